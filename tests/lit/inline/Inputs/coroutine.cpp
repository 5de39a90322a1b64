// LLVM splits a coroutine into functions while it inlines.
#include <coroutine>

struct Numbers {
  struct promise_type {
    int Value = 0;
    Numbers get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int V) {
      Value = V;
      return {};
    }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> Handle;
};

void seen(int);
static int twice(int X) {
  seen(X);
  return 2 * X;
}
static int fourTimes(int X) { return twice(twice(X)); }

Numbers upTo(int Last) {
  for (int I = 0; I < Last; ++I)
    co_yield fourTimes(I);
  seen(fourTimes(Last));
}

int sum(int Last) {
  int Total = 0;
  Numbers N = upTo(Last);
  for (N.Handle.resume(); !N.Handle.done(); N.Handle.resume())
    Total += twice(N.Handle.promise().Value);
  N.Handle.destroy();
  return Total;
}
