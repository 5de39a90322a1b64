// Without a model the plugin changes nothing; neither does CBRIDGE_DISABLE.
// RUN: %clang -Oz -c %S/Inputs/calls.c -o %t.plain.o
// RUN: %clang -Oz -c %S/Inputs/calls.c -o %t.o -fpass-plugin=%plugin
// RUN: cmp %t.plain.o %t.o
// RUN: %model=constant:0 %clang -Oz -c %S/Inputs/calls.c -o %t.o
// -fpass-plugin=%plugin RUN: not cmp %t.plain.o %t.o RUN: env CBRIDGE_DISABLE=1
// CBRIDGE_INLINE_MODEL=constant:0 %clang -Oz -c %S/Inputs/calls.c -o %t.o
// -fpass-plugin=%plugin RUN: cmp %t.plain.o %t.o RUN: env CBRIDGE_DISABLE=0
// CBRIDGE_INLINE_MODEL=constant:0 %clang -Oz -c %S/Inputs/calls.c -o %t.o
// -fpass-plugin=%plugin RUN: not cmp %t.plain.o %t.o
