; A function whose call of itself ends at once, so that LLVM inlines it.
target triple = "x86_64-pc-linux-gnu"

declare void @outside(i32)

define internal i32 @shared(i32 %x) {
  %y = add i32 %x, 3
  call void @outside(i32 %y)
  ret i32 %y
}

define i32 @itself_with_a_constant(i32 %x) {
  %z = icmp eq i32 %x, 0
  br i1 %z, label %end, label %more
more:
  %r = call i32 @itself_with_a_constant(i32 0)
  %s = call i32 @shared(i32 %r)
  ret i32 %s
end:
  call void @outside(i32 7)
  ret i32 1
}
