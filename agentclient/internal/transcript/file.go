package transcript

import (
	"bytes"
	"io"
	"iter"
	"os"
)

const (
	firstRead = 512 << 10 // bytes of the file's end that are read first; Claude Code writes its system prompt, too
	maxRead   = 32 << 20  // in all; a line with a screenshot of 5 MB has it twice
)

// backward yields the complete lines in the last 32 MiB of the file, last first. It yields none if the file is
// not a regular one: opening a pipe would block.
func backward(path string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return
		}
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer func() { _ = f.Close() }()
		var tail []byte // of a line whose beginning is not read yet
		end := info.Size()
		for block := int64(firstRead); end > 0 && block < maxRead; block *= 2 {
			n := min(block, end)
			b := make([]byte, n, n+int64(len(tail)))
			if _, err := io.ReadFull(io.NewSectionReader(f, end-n, n), b); err != nil {
				return
			}
			end -= n
			i := bytes.LastIndexByte(b, '\n')
			for b = append(b, tail...); i >= 0; i = bytes.LastIndexByte(b, '\n') {
				if !yield(b[i+1:]) {
					return
				}
				b = b[:i]
			}
			tail = b
		}
		if end == 0 {
			yield(tail)
		}
	}
}
