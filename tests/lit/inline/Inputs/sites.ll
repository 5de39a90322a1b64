; Calls whose extra features are known.
target triple = "x86_64-pc-linux-gnu"

declare void @outside(ptr)

define internal i32 @leaf(i32 %x, ptr %p) minsize optsize {
  %slot = alloca i32
  store i32 %x, ptr %slot
  %y = load i32, ptr %p
  call void @outside(ptr %slot)
  call void @outside(ptr %p)
  ret i32 %y
}

; Both arguments are passed on where they came, and the result is returned.
define linkonce_odr i32 @forwards(i32 %x, ptr %p) minsize optsize {
  %r = call i32 @leaf(i32 %x, ptr %p)
  ret i32 %r
}

; A local variable, in a loop, twice.
define i32 @loops(i32 %n) minsize optsize {
entry:
  %local = alloca i32
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %a = call i32 @leaf(i32 %i, ptr %local)
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %after
after:
  %b = call i32 @leaf(i32 %n, ptr %local)
  unreachable
}

; Calls itself: LLVM never inlines it.
define internal i32 @again(i32 %x) minsize optsize {
  %y = call i32 @again(i32 %x)
  ret i32 %y
}

define i32 @starts() minsize optsize {
  %y = call i32 @again(i32 7)
  ret i32 0
}

@table = global ptr @leaf
