package data

import "unicode/utf8"

// byteLetters maps a byte to its letter in GPT-2's byte alphabet: printable Latin-1 stands for
// itself, the 68 other bytes are U+0100, U+0101 and so on in order (Radford et al. 2019, encoder.py).
var byteLetters = func() (letters [256]rune) {
	next := rune(256)
	for b := range letters {
		r := rune(b)
		if printable := r >= '!' && r <= '~' || r >= 0xA1 && r <= 0xAC || r >= 0xAE; !printable {
			r, next = next, next+1
		}
		letters[b] = r
	}
	return letters
}()

// spell writes bytes in GPT-2's byte alphabet: "\n" is "Ċ", "é" is "Ã©".
func spell(raw []byte) string {
	letters := make([]rune, len(raw))
	for i, b := range raw {
		letters[i] = byteLetters[b]
	}
	return string(letters)
}

// charMerges returns the byte-pair merges that build every multi-byte character from its bytes,
// shorter products first, each once. No two merges compete: a left side starts with a lead byte and
// a right side is one continuation byte, so that no merge reaches over a character's end.
func charMerges(chars [][]byte) [][2]string {
	var merges [][2]string
	seen := make(map[string]bool)
	for n := 2; n <= utf8.UTFMax; n++ {
		for _, c := range chars {
			if len(c) < n || seen[string(c[:n])] {
				continue
			}
			seen[string(c[:n])] = true
			merges = append(merges, [2]string{spell(c[:n-1]), spell(c[n-1 : n])})
		}
	}
	return merges
}
