package cpu

import "testing"

// The known answers are those of the authors' own distribution (Random123, kat_vectors).
func TestPhiloxKnownAnswers(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{
			counter: [4]uint32{ones, ones, ones, ones},
			key:     [2]uint32{ones, ones},
			want:    [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		},
		{
			counter: [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			key:     [2]uint32{0xa4093822, 0x299f31d0},
			want:    [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		got := philox(c.counter[0], c.counter[1], c.counter[2], c.counter[3], c.key[0], c.key[1])
		if got != c.want {
			t.Errorf("counter %x, key %x: got %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}
