; Calls that are not as others: unreachable, recursive, of themselves by way of
; another, made direct by inlining, mandatory, forbidden, in a switch, in a loop.
target triple = "x86_64-pc-linux-gnu"

$shared = comdat any

declare void @outside(i32)
declare i32 @__gxx_personality_v0(...)

define linkonce_odr i32 @shared(i32 %x) minsize optsize comdat {
  %y = add i32 %x, 3
  call void @outside(i32 %y)
  ret i32 %y
}

define internal i32 @twice(i32 %x) minsize optsize {
  %a = call i32 @shared(i32 %x)
  %b = call i32 @shared(i32 %a)
  ret i32 %b
}

define internal i32 @apply(ptr %f, i32 %x) minsize optsize {
  %a = call i32 %f(i32 %x)
  %b = call i32 %f(i32 %a)
  call void @outside(i32 %b)
  call void @outside(i32 %a)
  ret i32 %b
}

define available_externally i32 @elsewhere(i32 %x) minsize optsize {
  %y = mul i32 %x, %x
  ret i32 %y
}

define internal i32 @must(i32 %x) alwaysinline {
  %y = call i32 @twice(i32 %x)
  ret i32 %y
}

define internal i32 @mustnot(i32 %x) noinline {
  %y = call i32 @twice(i32 %x)
  ret i32 %y
}

define i32 @even(i32 %x) minsize optsize {
  %z = icmp eq i32 %x, 0
  br i1 %z, label %yes, label %no
yes:
  ret i32 1
no:
  %y = sub i32 %x, 1
  %o = call i32 @odd(i32 %y)
  ret i32 %o
}

define internal i32 @odd(i32 %x) minsize optsize {
  %z = icmp eq i32 %x, 0
  br i1 %z, label %yes, label %no
yes:
  ret i32 0
no:
  %y = sub i32 %x, 1
  %o = call i32 @even(i32 %y)
  ret i32 %o
}

define i32 @itself(i32 %x) minsize optsize {
  %z = icmp slt i32 %x, 2
  br i1 %z, label %end, label %more
more:
  %y = sub i32 %x, 1
  %r = call i32 @itself(i32 %y)
  %s = call i32 @twice(i32 %r)
  ret i32 %s
end:
  ret i32 %x
}

define internal void @never_returns(i32 %x) minsize optsize noreturn {
  call void @outside(i32 %x)
  unreachable
}

define internal i32 @cases(i32 %x) minsize optsize {
  switch i32 %x, label %other [
    i32 0, label %zero
    i32 1, label %one
    i32 7, label %seven
    i32 9, label %one
  ]
zero:
  %a = call i32 @twice(i32 0)
  ret i32 %a
one:
  %b = call i32 @apply(ptr @shared, i32 %x)
  ret i32 %b
seven:
  call void @never_returns(i32 %x)
  %c = call i32 @twice(i32 %x)
  ret i32 %c
other:
  ret i32 -1
}

define internal i32 @loops(i32 %n) minsize optsize {
entry:
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i1, %next ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j1, %inner ]
  %v = call i32 @cases(i32 %j)
  %w = call i32 @elsewhere(i32 %v)
  %j1 = add i32 %j, 1
  %d = icmp eq i32 %j1, %w
  br i1 %d, label %next, label %inner
next:
  %i1 = add i32 %i, 1
  %e = icmp eq i32 %i1, %n
  br i1 %e, label %end, label %outer
end:
  ret i32 %i1
dead:
  %u = call i32 @twice(i32 %n)
  br label %dead2
dead2:
  ret i32 %u
}

define i32 @catches(i32 %n) minsize optsize personality ptr @__gxx_personality_v0 {
  %a = invoke i32 @cases(i32 %n) to label %fine unwind label %bad
fine:
  %b = call i32 @loops(i32 %a)
  %c = call i32 @must(i32 %b)
  %d = call i32 @mustnot(i32 %c)
  %e = call i32 @apply(ptr @twice, i32 %d)
  ret i32 %e
bad:
  %l = landingpad { ptr, i32 } cleanup
  call void @outside(i32 %n)
  resume { ptr, i32 } %l
}
