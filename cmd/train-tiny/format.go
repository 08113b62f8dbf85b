package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tinylm/data"
	"tinylm/train"
)

// bytesText is a size rounded to at least two digits: "740 bytes", "312 KB", "1.3 GB".
func bytesText(n int64) string {
	x, unit := float64(n), 0
	units := []string{" bytes", " KB", " MB", " GB", " TB", " PB", " EB"}
	for x >= 999.5 && unit < len(units)-1 {
		x, unit = x/1000, unit+1
	}
	if x < 9.95 && unit > 0 {
		return fmt.Sprintf("%.1f%s", x, units[unit])
	}
	return fmt.Sprintf("%.0f%s", x, units[unit])
}

// countText is a large number: "812", "0.83 M", "124 M".
func countText(n int) string {
	switch x := float64(n) / 1e6; {
	case n < 10_000:
		return data.Thousands(n)
	case x < 10:
		return fmt.Sprintf("%.2f M", x)
	default:
		return fmt.Sprintf("%.0f M", x)
	}
}

// digitsText is a number rounded to so many digits, without an exponent: "0.00633", "741", "1970".
func digitsText(x float64, digits int) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		rounded = x
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// several is a number of things: "1 layer", "1,200 steps".
func several(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return data.Thousands(n) + " " + thing
}

// timeText is a time for people: "0.04 s", "51 s", "3 min 20 s", "2 h 5 min".
func timeText(d time.Duration) string {
	seconds := int(d.Round(time.Second).Seconds())
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.2g s", d.Seconds())
	case seconds < 60:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%d min %d s", seconds/60, seconds%60)
	default:
		return fmt.Sprintf("%d h %d min", seconds/3600, seconds%3600/60)
	}
}

// instructionsText names the instruction set of the kernels: "AVX-512".
func instructionsText(isa string) string {
	names := map[string]string{"avx512": "AVX-512", "avx2": "AVX2", "neon": "NEON", "generic": "plain Go"}
	return cmp.Or(names[isa], isa)
}

// rateText is a learning rate in its shortest form: "1e-3", "2.5e-4".
func rateText(x float64) string {
	text := strconv.FormatFloat(x, 'e', -1, 64)
	return strings.NewReplacer("e-0", "e-", "e+0", "e+").Replace(text)
}

// progressLine is the line for where there is no terminal.
func progressLine(p train.Progress) string {
	var s strings.Builder
	fmt.Fprintf(&s, "step %d/%d loss %.4f", p.Step, p.MaxIters, p.Loss)
	if !math.IsNaN(p.ValLoss) {
		fmt.Fprintf(&s, " val %.4f bpb %.3f", p.ValLoss, p.ValBPB)
	}
	fmt.Fprintf(&s, " lr %.1e grad %.2f tok/s %.0f left %v", p.Rate, p.Norm, p.TokensPerSecond, p.Left.Round(time.Second))
	return s.String()
}

// progressText is what stands beside the bar on a terminal.
func progressText(p train.Progress) string {
	var s strings.Builder
	fmt.Fprintf(&s, "step %d/%d  loss %.2f", p.Step, p.MaxIters, p.Loss)
	if !math.IsNaN(p.ValLoss) {
		fmt.Fprintf(&s, "  val %.2f (%.2f bpb)", p.ValLoss, p.ValBPB)
	}
	fmt.Fprintf(&s, "  %s tok/s  %s left", data.Thousands(int(p.TokensPerSecond)), timeText(p.Left))
	return s.String()
}

// printable makes a text harmless for a terminal or a log: what is not UTF-8, and control characters other
// than newlines and tabs, become U+FFFD.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// indent puts two spaces before every line.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
