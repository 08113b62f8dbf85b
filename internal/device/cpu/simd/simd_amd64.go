package simd

import "golang.org/x/sys/cpu"

func sets() []*Set {
	var all []*Set
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL {
		all = append(all, avx512)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, avx2)
	}
	return all
}

var avx512 = &Set{Name: "avx512", Products: productsAVX512, Elements: elementsAVX512, Scores: scoresAVX512, Peaks: peaksAVX512}

var avx2 = &Set{Name: "avx2", Products: productsAVX2, Elements: elementsAVX2, Scores: scoresAVX2, Peaks: peaksAVX2}
