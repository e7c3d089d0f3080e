package gitread

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // the names of git's objects
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"
	"strings"
)

func parseOID(text string) (OID, bool) {
	raw, err := hex.DecodeString(text)
	return OID(raw), err == nil && len(raw) == sha1.Size
}

// Entry is a file in the index.
type Entry struct {
	Path      string
	Mode      uint32
	Size      uint32
	Sec, Nsec uint32 // time of the last change
	OID       OID
	IsNew     bool // git add -N: without content
}

// Index is the index of a repository: its tracked files, sorted by path.
type Index struct {
	Entries []Entry
	trees   map[string]OID // valid trees in the cache, by path
	sec     int64          // time of the last change
	nsec    int
}

// minEntry is the size of the shortest entry, in bytes.
const minEntry = 62

// Index reads the index. A repository without one tracks nothing.
func (r *Repository) Index() (*Index, error) {
	f, info, err := openIn(r.own, "index")
	if errors.Is(err, fs.ErrNotExist) {
		return &Index{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > maxIndex || info.Size() < 12+sha1.Size {
		return nil, fmt.Errorf("the index has %d bytes", info.Size())
	}
	raw := make([]byte, info.Size())
	if _, err := io.ReadFull(f, raw); err != nil {
		return nil, err
	}
	x := &Index{sec: info.ModTime().Unix(), nsec: info.ModTime().Nanosecond()}
	return x, x.parse(string(raw[:len(raw)-sha1.Size]), r.stopped)
}

var errIndex = errors.New("the index is damaged")

func number(text string) uint32 {
	return uint32(text[0])<<24 | uint32(text[1])<<16 | uint32(text[2])<<8 | uint32(text[3])
}

func (x *Index) parse(text string, stopped func() bool) error {
	version, count := number(text[4:]), int(number(text[8:]))
	if text[:4] != "DIRC" || version < 2 || version > 4 || count > len(text)/minEntry+1 && version < 4 || count > len(text)/20 {
		return errIndex
	}
	x.Entries = make([]Entry, count)
	at, previous := 12, ""
	for i := range x.Entries {
		if i%4096 == 0 && stopped() {
			return ErrStopped
		}
		var ok bool
		if at, ok = x.Entries[i].parse(text, at, version, previous); !ok {
			return errIndex
		}
		previous = x.Entries[i].Path
	}
	byPath := func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(x.Entries, byPath) {
		return errIndex
	}
	return x.parseExtensions(text[at:])
}

// parse reads the entry at an offset, and returns the offset of the next one.
func (e *Entry) parse(text string, at int, version uint32, previous string) (next int, ok bool) {
	if at+minEntry > len(text) {
		return 0, false
	}
	field := text[at:]
	flags := uint16(field[60])<<8 | uint16(field[61])
	*e = Entry{
		Sec: number(field[8:]), Nsec: number(field[12:]), Mode: number(field[24:]), Size: number(field[36:]), OID: OID(field[40:60]),
	}
	name := at + minEntry
	if flags&0x4000 != 0 { // extended
		if name+2 > len(text) {
			return 0, false
		}
		e.IsNew = text[name]&0x20 != 0
		name += 2
	}
	if version == 4 {
		strip, n := offsetVarint(text[name:])
		if n == 0 || strip > uint64(len(previous)) {
			return 0, false
		}
		name += n
		end := strings.IndexByte(text[name:], 0)
		if end < 0 {
			return 0, false
		}
		e.Path = previous[:len(previous)-int(strip)] + text[name:name+end]
		return name + end + 1, true
	}
	end := strings.IndexByte(text[name:], 0)
	if end < 0 {
		return 0, false
	}
	e.Path = text[name : name+end]
	return at + (name+end-at+8)/8*8, true
}

// parseExtensions reads the cache of trees. An extension that changes the meaning of the entries is an error.
func (x *Index) parseExtensions(text string) error {
	for len(text) >= 8 {
		name, size := text[:4], int64(number(text[4:]))
		if size > int64(len(text)-8) {
			return errIndex
		}
		data := text[8 : 8+size]
		text = text[8+size:]
		switch {
		case name == "TREE":
			x.trees = map[string]OID{}
			x.parseTrees(data, "", 0)
		case name[0] < 'A' || name[0] > 'Z':
			return errors.New("the index is split or sparse, which is not supported")
		}
	}
	return nil
}

// parseTrees reads a tree of the cache with its subtrees, and returns the rest of the text.
func (x *Index) parseTrees(text, dir string, depth int) (rest string, ok bool) {
	name, text, ok1 := strings.Cut(text, "\x00")
	counts, text, ok2 := strings.Cut(text, "\n")
	var entries, subtrees int
	if n, _ := fmt.Sscanf(counts, "%d %d", &entries, &subtrees); !ok1 || !ok2 || n != 2 || depth > 1000 {
		return "", false
	}
	if name != "" {
		dir += name + "/"
	}
	if entries >= 0 {
		if len(text) < sha1.Size {
			return "", false
		}
		x.trees[dir] = OID(text[:sha1.Size])
		text = text[sha1.Size:]
	}
	for range subtrees {
		if text, ok = x.parseTrees(text, dir, depth+1); !ok {
			return "", false
		}
	}
	return text, true
}

// Find returns the entry of a path, or nil.
func (x *Index) Find(path string) *Entry {
	i := sort.Search(len(x.Entries), func(i int) bool { return x.Entries[i].Path >= path })
	if i < len(x.Entries) && x.Entries[i].Path == path {
		return &x.Entries[i]
	}
	return nil
}

// Below returns the entries of a path and of everything below it; "" is the root.
func (x *Index) Below(path string) []Entry {
	if path == "" {
		return x.Entries
	}
	if e := x.Find(path); e != nil {
		return []Entry{*e}
	}
	from := sort.Search(len(x.Entries), func(i int) bool { return x.Entries[i].Path >= path+"/" })
	to := sort.Search(len(x.Entries), func(i int) bool { return x.Entries[i].Path >= path+"0" }) // after the slash
	return x.Entries[from:to]
}

// IsChanged reports whether a file differs from its entry. It reads the file only if its size and its time are no proof.
func (r *Repository) IsChanged(x *Index, e *Entry, info fs.FileInfo) (bool, error) {
	kind := e.Mode >> 12
	isLink := info.Mode()&fs.ModeSymlink != 0
	switch {
	case e.IsNew, kind == 0o16 && !info.IsDir(), kind == 0o12 != isLink, kind == 0o10 && !info.Mode().IsRegular():
		return true, nil
	case kind == 0o16: // a submodule has its own repository
		return false, nil
	case uint32(info.Size()) != e.Size: // modulo 2³², as in the index
		return true, nil
	}
	at := info.ModTime()
	sameTime := uint32(at.Unix()) == e.Sec && (e.Nsec == 0 || uint32(at.Nanosecond()) == e.Nsec)
	// A file that changed again after the index was written can have the same time.
	isRacy := at.Unix() > x.sec || at.Unix() == x.sec && at.Nanosecond() >= x.nsec
	if sameTime && !isRacy {
		return false, nil
	}
	var text string
	var err error
	if isLink {
		text, err = r.tree.Readlink(e.Path)
	} else {
		text, err = r.compared(e.Path)
	}
	return err == nil && blobID(text) != e.OID, err
}

// compared returns a file for a comparison. The sum of their sizes is limited.
func (r *Repository) compared(rel string) (string, error) {
	if r.stopped() || r.read > 4*MaxObject {
		return "", ErrStopped
	}
	text, err := r.File(rel)
	r.read += int64(len(text))
	return text, err
}

func blobID(text string) OID {
	h := sha1.New() //nolint:gosec // the names of git's objects
	fmt.Fprintf(h, "blob %d\x00", len(text))
	_, _ = io.WriteString(h, text)
	return OID(h.Sum(nil))
}

// offsetVarint reads a number as in offsets of deltas and in version 4 of the index. n is 0 if there is none.
func offsetVarint(text string) (value uint64, n int) {
	for n < len(text) && n < 9 {
		c := text[n]
		n++
		value |= uint64(c & 0x7f)
		if c < 0x80 {
			return value, n
		}
		value = (value + 1) << 7
	}
	return 0, 0
}

// HashOf returns the object of a full hash; "": the text is none.
func HashOf(hash string) OID {
	oid, _ := parseOID(hash)
	return oid
}
