"""Command lines of `clang -cc1`: what of them makes a module's code, and how to run them again.

Imports nothing, since wrappers of compilers start it for every file that a build compiles.
"""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# cc1 options whose value is the next argument, of LLVM 19. A word that is neither an option nor
# such a value is a file to compile.
_SEPARATE = _set(
    """
    -add-plugin -analyze-function -analyzer-checker -analyzer-config
    -analyzer-config-compatibility-mode -analyzer-constraints -analyzer-disable-checker
    -analyzer-dump-egraph -analyzer-inline-max-stack-depth -analyzer-inlining-mode
    -analyzer-max-loop -analyzer-output -analyzer-purge -arcmt-migrate-report-output
    -as-secure-log-file -ast-dump-filter -ast-merge -aux-target-cpu -aux-target-feature -aux-triple
    -c-isystem -chain-include -code-completion-at -coverage-data-file -coverage-notes-file
    -darwin-target-variant-triple -default-function-attr -dependency-dot -dependency-file
    -diagnostic-log-file -dumpdir -dwarf-debug-flags -error-on-deserialized-decl -exception-model
    -fbracket-depth -fconstant-string-class -fcuda-include-gpubinary -fdebug-compilation-dir
    -fdiagnostics-format -fdiagnostics-show-category -ferror-limit
    -fexperimental-openacc-macro-override -fmessage-length -fmodule-feature
    -fmodule-implementation-of -fmodules-user-build-path -fopenmp-host-ir-file-path -ftabstop
    -ftrapv-handler -function-alignment -header-include-file -hlsl-entry -include-pch
    -internal-externc-isystem -internal-isystem -load -main-file-name -mdebug-pass -meabi
    -mfloat-abi -mfpmath -mlimit-float-precision -mlink-bitcode-file -mlink-builtin-bitcode -mllvm
    -module-dependency-dir -mregparm -mrelocation-model -msmall-data-limit -mt-migrate-directory
    -mthread-model -mtp -objc-isystem -objcxx-isystem -object-file-name -opt-record-file
    -opt-record-format -opt-record-passes -pic-level -plugin -record-command-line -remap-file
    -resource-dir -serialize-diagnostic-file -source-date-epoch -split-dwarf-file
    -split-dwarf-output -stack-protector -stack-protector-buffer-size -stack-usage-file -target-abi
    -target-cpu -target-feature -target-linker-version -triple -tune-cpu -working-directory
    -cxx-isystem -D -F -iapinotes-modules -idirafter -iframeworkwithsysroot -iframework -imacros
    -include -iprefix -iquote -isysroot -isystem -ivfsoverlay -iwithprefixbefore -iwithprefix
    -iwithsysroot -I -MQ -MT -o -U -vfsoverlay -x
    """
)

# Dropped, because they name files (which other machines do not have, or which a second compile
# would overwrite), choose what is written, load code into clang, or ask for warnings, which can be
# errors.
_DROPPED = _set(
    """
    -add-plugin -as-secure-log-file -chain-include -coverage-data-file -coverage-notes-file
    -dependency-dot -dependency-file -diagnostic-log-file -dumpdir -header-include-file -imacros
    -include -include-pch -ivfsoverlay -load -mlink-bitcode-file -mlink-builtin-bitcode
    -module-dependency-dir -o -object-file-name -opt-record-file -opt-record-format
    -opt-record-passes -plugin -remap-file -serialize-diagnostic-file -split-dwarf-file
    -split-dwarf-output -stack-usage-file -vfsoverlay -working-directory -x
    -E -M -MG -MM -MP -MQ -MT -MV -S -fsyntax-only -sys-header-deps -module-file-deps
    -emit-obj -emit-llvm -emit-llvm-bc -emit-llvm-only -emit-codegen-only -emit-llvm-uselists
    -disable-llvm-passes -disable-llvm-optzns
    -pedantic -pedantic-errors -fno-temp-file -flto -flto-unit -mbitcode
    """
)
_DROPPED_PREFIXES = (
    "-plugin-arg-",
    "-fpass-plugin=",
    "-fembed-bitcode",
    "-fthinlto-index=",
    "-flto=",
    "-fprofile-instrument-path=",
    "-fprofile-instrument-use-path=",
    "-fprofile-sample-use=",
    "-fprofile-remapping-file=",
    "-fprofile-list=",
    "-fmemory-profile-use=",
    "-fsanitize-ignorelist=",
    "-fsanitize-system-ignorelist=",
    "-fsanitize-coverage-allowlist=",
    "-fsanitize-coverage-ignorelist=",
    "-fxray-always-instrument=",
    "-fxray-never-instrument=",
    "-fxray-attr-list=",
    "-fbasic-block-sections=list=",
    "-fmodule",
    "-ftime-trace",
    "-coverage-data-file=",
    "-coverage-notes-file=",
    "-header-include-",
    "-save-temps",
    "-stats-file",
    "-show-includes",
    "-W",
)
# Values of -mllvm that go the same way, and those that choose a policy, which is up to whoever
# compiles the module again; without its host, an interactive one would wait forever.
_DROPPED_LLVM = (
    "-load",
    "-lto-embed-bitcode",
    "-thinlto-assume-merged",
    "-cbridge-",
    "-enable-ml-inliner",
    "-inliner-interactive-",
    "-ml-inliner-",
    "-training-log",
    "-regalloc-enable-",
    "-regalloc-evict-interactive-",
    "-regalloc-priority-interactive-",
    "-regalloc-training-log",
    "-regalloc-priority-training-log",
)

# What only sources need; bitcode has gone through it. They hold the paths of a machine.
_SOURCE_ONLY = _set(
    """
    -D -F -I -U -c-isystem -cxx-isystem -iapinotes-modules -idirafter -iframework
    -iframeworkwithsysroot -internal-externc-isystem -internal-isystem -iprefix -iquote -isysroot
    -isystem -iwithprefix -iwithprefixbefore -iwithsysroot -objc-isystem -objcxx-isystem
    -resource-dir
    """
)
_JOINED_SOURCE_ONLY = (
    *("-D", "-F", "-I", "-U"),
    *("-fdebug-compilation-dir", "-fcoverage-compilation-dir"),
    *("-fdebug-prefix-map=", "-fmacro-prefix-map=", "-fcoverage-prefix-map="),
)

Option = tuple[str, ...]  # a flag, or a flag and its value


def options(arguments: list[str]) -> tuple[list[Option], list[str]]:
    """The options of a cc1 command line, each with its value, and the files it compiles."""
    found: list[Option] = []
    inputs = []
    position = 0
    while position < len(arguments):
        word = arguments[position]
        position += 1
        if word == "-cc1" or not word:
            continue
        if word == "-" or not word.startswith("-"):
            inputs.append(word)
        elif _takes_value(word) and position < len(arguments):
            found.append((word, arguments[position]))
            position += 1
        else:
            found.append((word,))
    return found, inputs


def _takes_value(flag: str) -> bool:
    return flag in _SEPARATE or flag.startswith("-plugin-arg-")


def _is_dropped(option: Option) -> bool:
    flag = option[0]
    if flag == "-mllvm":
        return option[-1].startswith(_DROPPED_LLVM)
    return flag in _DROPPED or flag.startswith(_DROPPED_PREFIXES)


def _is_for_sources(option: Option) -> bool:
    flag = option[0]
    return flag in _SOURCE_ONLY or (len(option) == 1 and flag.startswith(_JOINED_SOURCE_ONLY))


def code_generation(arguments: list[str]) -> list[str]:
    """What makes code from bitcode, of a cc1 command line of any origin; without `-cc1`."""
    found, _ = options(arguments)
    return [
        word
        for option in found
        if not _is_dropped(option) and not _is_for_sources(option)
        for word in option
    ]


# Of the dropped ones, those that a source needs to be read at all.
_READ_BY_SOURCES = _set(
    "-include -imacros -include-pch -ivfsoverlay -x -vfsoverlay -working-directory -remap-file"
)
_READ_BY_SOURCES_PREFIXES = ("-fmodule", "-fprofile-list=")


def to_bitcode(arguments: list[str], output: str, source: str) -> list[str]:
    """A cc1 command line that writes the bitcode of a source before any optimization."""
    found, _ = options(arguments)
    kept = [
        option
        for option in found
        if not _is_dropped(option)
        or option[0] in _READ_BY_SOURCES
        or option[0].startswith(_READ_BY_SOURCES_PREFIXES)
    ]
    language = [option for option in kept if option[0] == "-x"]
    words = [word for option in kept if option[0] != "-x" for word in option]
    words += ["-emit-llvm-bc", "-disable-llvm-passes", "-w", "-o", output]
    return ["-cc1", *words, *(word for option in language[-1:] for word in option), source]


def optimization_level(arguments: list[str]) -> str:
    """Such as `-Oz`: bitcode for -O2 and for -O3 is the same, its code is not."""
    levels = [word for word in arguments if word.startswith("-O")]
    return levels[-1] if levels else "-O0"
