package main

import (
	"math"
	"testing"
	"time"

	"tinylm/train"
)

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{bytesText(0), "0 bytes"}, {bytesText(740), "740 bytes"}, {bytesText(1000), "1.0 KB"}, {bytesText(312_480), "312 KB"},
		{bytesText(999_600), "1.0 MB"}, {bytesText(41_300_000), "41 MB"}, {bytesText(31_200_000_000), "31 GB"}, {bytesText(1 << 62), "4.6 EB"},
		{gigabytes(949e6), "949 MB"}, {gigabytes(31.24e9), "31.2 GB"}, {gigabytes(999.96e9), "1.0 TB"}, {gigabytes(11907072000000e9), "11.9 ZB"}, {gigabytes(2e28), "20000.0 YB"},
		{digitsText(1974.6, 3), "1970"}, {digitsText(5.006592, 3), "5.01"}, {digitsText(0.006328, 4), "0.006328"}, {digitsText(999.7, 3), "1000"},
		{countText(812), "812"}, {countText(9_999), "9,999"}, {countText(826_112), "0.83 M"}, {countText(124_439_808), "124 M"},
		{timeText(40 * time.Millisecond), "0.04 s"}, {timeText(51 * time.Second), "51 s"}, {timeText(200 * time.Second), "3 min 20 s"},
		{timeText(59*time.Second + 700*time.Millisecond), "1 min 0 s"}, {timeText(125 * time.Minute), "2 h 5 min"},
		{rateText(1e-3), "1e-3"}, {rateText(2.5e-4), "2.5e-4"}, {rateText(1e30), "1e+30"}, {rateText(0), "0e+0"}, {rateText(3), "3e+0"},
		{several(1, "layer"), "1 layer"}, {several(1200, "step"), "1,200 steps"}, {several(0, "step"), "0 steps"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestProgressLine(t *testing.T) {
	p := train.Progress{Step: 250, MaxIters: 600, Loss: 1.31042, ValLoss: 1.3832, ValBPB: 1.99555, Rate: 9.1e-4, Norm: 0.612,
		TokensPerSecond: 31_200.4, Left: 29*time.Second + 300*time.Millisecond}
	if got, want := progressLine(p), "step 250/600 loss 1.3104 val 1.3832 bpb 1.996 lr 9.1e-04 grad 0.61 tok/s 31200 left 29s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := progressText(p), "step 250/600  loss 1.31  val 1.38 (2.00 bpb)  31,200 tok/s  29 s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.ValLoss, p.ValBPB, p.Loss = math.NaN(), math.NaN(), 710
	if got, want := progressLine(p), "step 250/600 loss 710.0000 lr 9.1e-04 grad 0.61 tok/s 31200 left 29s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPrintable(t *testing.T) {
	if got, want := printable("a\tb\r\n\x1b[0mc\xffd\u0085é"), "a\tb\uFFFD\n\uFFFD[0mc\uFFFDd\uFFFDé"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := indent("a\n\nb\n"), "  a\n  \n  b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestExcerpt(t *testing.T) {
	long := "0123456789012345678901234567890123456789012345678901234567é9"
	for text, want := range map[string]string{
		"a\nb":         `"a\nb"`,
		long:           `"` + long[:60] + `"...`, // 61 bytes, é is bytes 58 and 59
		"x" + long[1:]: `"x` + long[1:60] + `"...`,
		"0" + long:     `"0` + long[:58] + `"...`, // é would be cut
	} {
		if got := excerpt([]byte(text)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestExamplePrompt(t *testing.T) {
	for text, want := range map[string]string{
		"The old fox went home.": "The old fox",
		"The old\nfox went":      "", // these words with spaces between them are not in the text
		"The old fox":            "",
		"":                       "",
		"caf\xe9 a b c":          "",
		"\x1b[0m a b c":          "",
	} {
		if got := examplePrompt([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLowerRate(t *testing.T) {
	for _, c := range []struct {
		rate, lowest float64
		want         string
	}{
		{1e-3, 1e-4, "--learning-rate 3e-4"}, {6e-4, 6e-5, "--learning-rate 2e-4"}, {1e-4, 1e-4, "--learning-rate 3e-5 --min-lr 3e-6"},
	} {
		if got := lowerRate(trainSettings{LearningRate: c.rate, MinLR: c.lowest}); got != c.want {
			t.Errorf("%v: %s, want %s", c.rate, got, c.want)
		}
	}
}
