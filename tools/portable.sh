#!/usr/bin/env bash
# Run all tests and chapters as on other machines: tools/portable.sh [ROW ...], by default every row.
#
# Each row is one run of `make tests` on a checkout of the last commit, and differs from a reader's usual machine in many
# settings at once: instructions of the processor, threads, hash seed, language, clock and path. The rows play x86-64
# processors under Linux. $shows is what must be in force, because a misspelt setting is passed over in silence; the
# question mark in it stands for a language that isn't installed.
set -euo pipefail

root=$(git rev-parse --show-toplevel)
venv=$(realpath "${VENV:-.venv}")
failed=()
[[ $# -gt 0 ]] || set -- no-avx avx2 own
for row; do
    case $row in
    no-avx)
        folder="weg über alles" shows="DEFAULT xmm Nehalem X86_V2 unfused 2 [,?] +0545"
        settings=(ATEN_CPU_CAPABILITY=default NUMBA_CPU_NAME=generic OPENBLAS_CORETYPE=Nehalem MKL_CBWR=COMPATIBLE
            "NPY_DISABLE_CPU_FEATURES=X86_V3 X86_V4 AVX512_ICL" GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-FMA
            OMP_NUM_THREADS=2 OMP_WAIT_POLICY=PASSIVE PYTHONHASHSEED=1 LC_ALL=de_DE.UTF-8 TZ=Asia/Kathmandu)
        ;;
    avx2)
        folder=plain shows="AVX2 ymm Haswell X86_V3 fused 1 [,?] +1245"
        settings=(ATEN_CPU_CAPABILITY=avx2 NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES= OPENBLAS_CORETYPE=Haswell
            "NPY_DISABLE_CPU_FEATURES=X86_V4 AVX512_ICL" OMP_NUM_THREADS=1 PYTHONHASHSEED=random LC_ALL=tr_TR.UTF-8
            TZ=Pacific/Chatham)
        ;;
    own)
        folder=own shows="* 2 . NST"
        # Two jobs of two threads would wait for one another by spinning, were they not passive.
        settings=(OMP_NUM_THREADS=2 OMP_WAIT_POLICY=PASSIVE PYTHONHASHSEED=random LC_ALL=C TZ=America/St_Johns)
        ;;
    *) echo "portable: no row $row: use no-avx, avx2 or own" >&2; exit 2 ;;
    esac
    clean=()
    for name in ATEN_CPU_CAPABILITY NUMBA_CPU_NAME NUMBA_CPU_FEATURES OPENBLAS_CORETYPE OPENBLAS_L2_SIZE MKL_CBWR \
        NPY_DISABLE_CPU_FEATURES GLIBC_TUNABLES OMP_WAIT_POLICY; do clean+=(-u "$name"); done
    surroundings=(env "${clean[@]}" "${settings[@]}")
    found=$("${surroundings[@]}" "$venv/bin/python" "$root/tools/surroundings.py")
    # shellcheck disable=SC2053
    [[ $found == $shows ]] || { echo "portable: $row shows '$found', not '$shows'" >&2; failed+=("$row"); continue; }

    checkout=$(mktemp -d)/$folder
    git clone --quiet "$root" "$checkout"
    ln -s "$venv" "$checkout/.venv"
    # What Numba compiles lies in the checkout, so that no row gets another processor's code.
    (cd "$checkout" && "${surroundings[@]}" PYTHONPATH="$checkout" NUMBA_CACHE_DIR="$checkout/.numba" \
        make --old-file=.venv/.installed tests VENV=.venv) || failed+=("$row")
    mkdir -p "$root/reports"
    cp "$checkout/reports/tests.xml" "$root/reports/portable-$row.xml" || true
    rm -rf "$(dirname "$checkout")"
done
echo "portable: failed: ${failed[*]:-none}"
[[ ${#failed[@]} == 0 ]]
