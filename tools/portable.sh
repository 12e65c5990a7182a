#!/usr/bin/env bash
# Build the book and run all tests as on other machines: tools/portable.sh [ROW ...], by default every row.
#
# Each row runs `make book` and `make tests` on a checkout of the last commit. It differs from a reader's usual machine in
# many settings at once:
# - the processor's instructions, the number of cores and of threads, Python's hash seed,
# - the language, the time zone, the date, the width of the terminal, the fonts,
# - the path of the checkout, the home folder, the permissions of new files.
# The rows play x86-64 processors under Linux. $shows is what must be in force, because a misspelt setting is passed over
# in silence; the question mark in it stands for a language that isn't installed.
set -euo pipefail

root=$(git rev-parse --show-toplevel)
venv=$(realpath "${VENV:-.venv}")
failed=()
fonts=$root/tests/site/fontconfig
[[ $# -gt 0 ]] || set -- no-avx avx2 own
for row; do
    ahead= # a folder that Python imports from before all else
    case $row in
    no-avx)
        folder="weg über alles" mask=022 cores=all
        shows="DEFAULT xmm Nehalem X86_V2 unfused 2 [,?] +0545 date:true home:writable umask:022 columns:300 cores:* font:Liberation*"
        settings=(ATEN_CPU_CAPABILITY=default NUMBA_CPU_NAME=generic OPENBLAS_CORETYPE=Nehalem MKL_CBWR=COMPATIBLE
            "NPY_DISABLE_CPU_FEATURES=X86_V3 X86_V4 AVX512_ICL" GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-FMA
            OMP_NUM_THREADS=2 OMP_WAIT_POLICY=PASSIVE PYTHONHASHSEED=1 LC_ALL=de_DE.UTF-8 TZ=Asia/Kathmandu
            COLUMNS=300 "FONTCONFIG_FILE=$fonts/liberation.conf")
        ;;
    avx2)
        folder=plain mask=022 cores=all ahead=$root/tools/future
        shows="AVX2 ymm Haswell X86_V3 fused 1 [,?] +1245 date:future home:writable umask:022 columns:none cores:* font:Noto*"
        settings=(ATEN_CPU_CAPABILITY=avx2 NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES= OPENBLAS_CORETYPE=Haswell
            "NPY_DISABLE_CPU_FEATURES=X86_V4 AVX512_ICL" OMP_NUM_THREADS=1 PYTHONHASHSEED=random LC_ALL=tr_TR.UTF-8
            TZ=Pacific/Chatham "FONTCONFIG_FILE=$fonts/noto.conf")
        ;;
    own)
        folder=own mask=077 cores=0
        shows="* 2 . NST date:true home:none umask:077 columns:40 cores:1 font:DejaVu*"
        # Two jobs of two threads would wait for one another by spinning, were they not passive.
        settings=(OMP_NUM_THREADS=2 OMP_WAIT_POLICY=PASSIVE PYTHONHASHSEED=random LC_ALL=C TZ=America/St_Johns
            HOME=/dev/null/nowhere COLUMNS=40 "FONTCONFIG_FILE=$fonts/dejavu.conf")
        ;;
    *) echo "portable: no row $row: use no-avx, avx2 or own" >&2; exit 2 ;;
    esac
    clean=()
    for name in ATEN_CPU_CAPABILITY NUMBA_CPU_NAME NUMBA_CPU_FEATURES OPENBLAS_CORETYPE OPENBLAS_L2_SIZE MKL_CBWR \
        NPY_DISABLE_CPU_FEATURES GLIBC_TUNABLES OMP_WAIT_POLICY COLUMNS; do clean+=(-u "$name"); done
    surroundings=(env "${clean[@]}" "${settings[@]}")
    [[ $cores == all ]] || surroundings=(taskset --cpu-list "$cores" "${surroundings[@]}")
    found=$(umask "$mask" && "${surroundings[@]}" PYTHONPATH="$ahead" "$venv/bin/python" "$root/tools/surroundings.py")
    # shellcheck disable=SC2053
    [[ $found == $shows ]] || { echo "portable: $row shows '$found', not '$shows'" >&2; failed+=("$row"); continue; }

    checkout=$(mktemp -d)/$folder
    (umask "$mask" && git clone --quiet "$root" "$checkout")
    ln -s "$venv" "$checkout/.venv"
    # The environment is up to date. Were it older than this checkout's files, make would install the checkout into it.
    touch "$venv/.installed"
    # What Numba compiles lies in the checkout, so that no row gets another processor's code.
    (cd "$checkout" && umask "$mask" && "${surroundings[@]}" PYTHONPATH="$checkout${ahead:+:$ahead}" NUMBA_CACHE_DIR="$checkout/.numba" \
        make --keep-going book tests VENV=.venv) || failed+=("$row")
    mkdir -p "$root/reports"
    cp "$checkout/reports/tests.xml" "$root/reports/portable-$row.xml" || true
    rm -rf "$(dirname "$checkout")"
done
echo "portable: failed: ${failed[*]:-none}"
[[ ${#failed[@]} == 0 ]]
