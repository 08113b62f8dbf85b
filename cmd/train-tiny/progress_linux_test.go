package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// terminal returns both ends of a pseudo-terminal of 60 columns: what is written to tty is read from screen.
func terminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	var unlock int32
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlock))); e != 0 {
		t.Fatal(e)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60}); err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, tty
}

// onTerminal runs the command with a terminal as stderr and returns what is on its screen, and stdout.
func onTerminal(t *testing.T, env string, args ...string) (screen, stdout string) {
	t.Helper()
	master, tty := terminal(t)
	cmd := program(t, newRunDir(t), append([]string{"book.txt", "--config", "tiny.json"}, args...)...)
	cmd.Env = append(cmd.Env, env)
	cmd.Stderr = tty
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	text, _ := io.ReadAll(master) // it ends with an error, as the other end is closed
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text), out.String()
}

func TestBarOnTerminal(t *testing.T) {
	screen, stdout := onTerminal(t, "TERM=xterm")
	for _, want := range []string{"100% |#", "step 12/12  loss ", "sample at step 6\r\n", "done       step 12"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen does not show %q", want)
		}
	}
	if strings.Contains(screen, "\x1b") || strings.Contains(screen, " lr ") {
		t.Error("the screen shows escape codes, or the lines for logs")
	}
	for line := range strings.SplitSeq(screen, "\n") {
		for part := range strings.SplitSeq(line, "\r") {
			if strings.Contains(part, "% |") && len(part) > 60 {
				t.Errorf("a bar of %d characters on 60 columns: %q", len(part), part)
			}
		}
	}
	if strings.ContainsAny(stdout, "\r|#%") {
		t.Errorf("stdout is more than text: %q", stdout)
	}
	if t.Failed() {
		t.Logf("%q", screen)
	}
}

func TestNoBar(t *testing.T) {
	screen, _ := onTerminal(t, "TERM=dumb")
	if strings.Contains(screen, "% |") || !strings.Contains(screen, "step 12/12 loss ") {
		t.Errorf("a dumb terminal shows %q", screen)
	}
	if screen, _ = onTerminal(t, "TERM=xterm", "--quiet"); screen != "" {
		t.Errorf("--quiet shows %q", screen)
	}
}
