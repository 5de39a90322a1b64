// Calls that LLVM may inline but need not, in a loop and out of it.
extern int weigh(int);

static int add(int A, int B) { return A + B; }

static int sum(const int *Values, int Count) {
  int Total = 0;
  for (int I = 0; I < Count; ++I)
    Total = add(Total, weigh(Values[I]));
  return Total;
}

static int mean(const int *Values, int Count) {
  return Count ? sum(Values, Count) / Count : 0;
}

int compare(const int *Left, const int *Right, int Count) {
  int A = mean(Left, Count), B = mean(Right, Count);
  return A < B ? -1 : add(A > B, 0);
}

__attribute__((always_inline)) static inline int must(int A) { return A * 3; }
__attribute__((noinline)) static int never(int A) { return A * 5; }
int forced(int A) { return must(A) + never(A); }
