package gitrepo

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Kind is the kind of an object.
type Kind int

// The kinds of objects, as packs number them.
const (
	KindCommit Kind = 1
	KindTree   Kind = 2
	KindBlob   Kind = 3
	KindTag    Kind = 4

	offsetDelta Kind = 6
	nameDelta   Kind = 7
)

const (
	maxPacks  = 1000 // of one directory of objects
	maxDeltas = 4096 // in a chain, as git writes at most
)

var errDamaged = errors.New("the object is damaged")

// Object returns the kind and the content of an object of at most limit bytes.
func (r *Repo) Object(id ID, limit int64) (Kind, []byte, error) {
	kind, content, err := r.object(id, 0)
	if err == nil && int64(len(content)) > limit {
		return 0, nil, fmt.Errorf("object %s is larger than %d bytes", id, limit)
	}
	return kind, content, err
}

func (r *Repo) object(id ID, depth int) (Kind, []byte, error) {
	if depth > maxDeltas {
		return 0, nil, errDamaged
	}
	for _, dir := range r.objectDirs() {
		kind, content, err := r.loose(dir, id)
		if errors.Is(err, ErrNotFound) {
			kind, content, err = r.packed(filepath.Join(dir, "pack"), id, depth)
		}
		if !errors.Is(err, ErrNotFound) {
			return kind, content, err
		}
	}
	return 0, nil, fmt.Errorf("object %s: %w", id, ErrNotFound)
}

// objectDirs returns the directories of objects: that of the repository and its alternates.
func (r *Repo) objectDirs() []string {
	if r.objects != nil {
		return r.objects
	}
	r.objects = []string{filepath.Join(r.CommonDir, "objects")}
	for i := 0; i < len(r.objects) && len(r.objects) <= maxLinks; i++ {
		text, _ := readFile(filepath.Join(r.objects[i], "info", "alternates"), maxLine)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				r.objects = append(r.objects, within(r.objects[i], line))
			}
		}
	}
	return r.objects
}

// inflate returns size bytes of a compressed stream; less than 0: all of it.
func (r *Repo) inflate(from io.Reader, size int64) ([]byte, error) {
	z, err := zlib.NewReader(from)
	if err != nil {
		return nil, errDamaged
	}
	wanted := maxInflated - r.inflated
	if size > wanted {
		return nil, errors.New("the objects are too large to read")
	} else if size >= 0 {
		wanted = size
	}
	content, err := io.ReadAll(io.LimitReader(z, wanted+1))
	r.inflated += int64(len(content))
	switch {
	case err != nil, size >= 0 && int64(len(content)) != size:
		return nil, errDamaged
	case r.inflated > maxInflated:
		return nil, errors.New("the objects are too large to read")
	}
	return content, nil
}

func (r *Repo) loose(dir string, id ID) (Kind, []byte, error) {
	name := id.String()
	f, err := openFile(filepath.Join(dir, name[:2], name[2:]))
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = f.Close() }()
	all, err := r.inflate(f, -1)
	if err != nil {
		return 0, nil, err
	}
	head, content, ok := bytes.Cut(all, []byte{0})
	word, size, _ := strings.Cut(string(head), " ")
	kind := map[string]Kind{"commit": KindCommit, "tree": KindTree, "blob": KindBlob, "tag": KindTag}[word]
	if !ok || kind == 0 || size != fmt.Sprint(len(content)) {
		return 0, nil, errDamaged
	}
	return kind, content, nil
}

// packed returns an object of a pack in a directory.
func (r *Repo) packed(dir string, id ID, depth int) (Kind, []byte, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return 0, nil, ErrNotFound
	}
	names, _ := folder.Readdirnames(3 * maxPacks)
	_ = folder.Close()
	for _, name := range names {
		base, isIndex := strings.CutSuffix(name, ".idx")
		if !isIndex {
			continue
		}
		offset, err := indexOffset(filepath.Join(dir, name), id)
		if errors.Is(err, ErrNotFound) {
			continue
		} else if err != nil {
			return 0, nil, err
		}
		f, err := openFile(filepath.Join(dir, base+".pack"))
		if err != nil {
			return 0, nil, err
		}
		defer func() { _ = f.Close() }()
		return r.packObject(f, offset, depth)
	}
	return 0, nil, ErrNotFound
}

// indexOffset returns where the pack of an index, version 2, has an object.
func indexOffset(index string, id ID) (int64, error) {
	f, err := openFile(index)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	at := func(offset int64, n int) []byte {
		b := make([]byte, n)
		if _, readErr := f.ReadAt(b, offset); readErr != nil {
			err = errDamaged
		}
		return b
	}
	number := func(offset int64) int64 { return int64(binary.BigEndian.Uint32(at(offset, 4))) }
	const fanout, names = 8, 8 + 256*4
	if !bytes.Equal(at(0, 8), []byte("\xfftOc\x00\x00\x00\x02")) {
		return 0, errors.New("the index of a pack has an unknown version")
	}
	low, high, total := int64(0), number(fanout+4*int64(id[0])), number(fanout+4*255)
	if id[0] > 0 {
		low = number(fanout + 4*int64(id[0]-1))
	}
	for low < high && err == nil {
		middle := (low + high) / 2
		switch order := bytes.Compare(id[:], at(names+20*middle, 20)); {
		case err != nil:
		case order < 0:
			high = middle
		case order > 0:
			low = middle + 1
		default:
			offset := number(names + 24*total + 4*middle)
			if offset>>31 != 0 {
				offset = int64(binary.BigEndian.Uint64(at(names+28*total+8*(offset&0x7fffffff), 8)) & (1<<63 - 1))
			}
			return offset, err
		}
	}
	if err != nil {
		return 0, err
	}
	return 0, ErrNotFound
}

// packObject returns the object at an offset of a pack.
func (r *Repo) packObject(pack *os.File, offset int64, depth int) (kind Kind, content []byte, err error) {
	in := bufio.NewReader(io.NewSectionReader(pack, offset, 1<<62-offset))
	b, err := in.ReadByte()
	kind = Kind(b >> 4 & 7)
	size, shift := int64(b&15), 4
	for b&0x80 != 0 && err == nil && shift < 50 {
		b, err = in.ReadByte()
		size |= int64(b&0x7f) << shift
		shift += 7
	}
	if err != nil || depth > maxDeltas {
		return 0, nil, errDamaged
	}
	var base []byte
	switch kind {
	case KindCommit, KindTree, KindBlob, KindTag:
		content, err = r.inflate(in, size)
		return kind, content, err
	case offsetDelta:
		back := int64(-1)
		for more := true; more && err == nil && back < 1<<50; more = b&0x80 != 0 {
			b, err = in.ReadByte()
			back = (back+1)<<7 | int64(b&0x7f)
		}
		if err != nil || back <= 0 || back > offset {
			return 0, nil, errDamaged
		}
		kind, base, err = r.packObject(pack, offset-back, depth+1)
	case nameDelta:
		var id ID
		if _, err = io.ReadFull(in, id[:]); err == nil {
			kind, base, err = r.object(id, depth+1)
		}
	default:
		return 0, nil, errDamaged
	}
	if err != nil {
		return 0, nil, err
	}
	delta, err := r.inflate(in, size)
	if err != nil {
		return 0, nil, err
	}
	content, err = r.applyDelta(base, delta)
	return kind, content, err
}

// applyDelta returns the object that a delta makes of base.
func (r *Repo) applyDelta(base, delta []byte) ([]byte, error) {
	from, n := binary.Uvarint(delta)
	if n <= 0 || from != uint64(len(base)) {
		return nil, errDamaged
	}
	delta = delta[n:]
	size, n := binary.Uvarint(delta)
	if n <= 0 || size > uint64(maxInflated-r.inflated) {
		return nil, errDamaged
	}
	r.inflated += int64(size)
	delta = delta[n:]
	out := make([]byte, 0, size)
	for len(delta) > 0 {
		op := delta[0]
		if delta = delta[1:]; op&0x80 == 0 { // insert op bytes
			if op == 0 || int(op) > len(delta) {
				return nil, errDamaged
			}
			out, delta = append(out, delta[:op]...), delta[op:]
		} else { // copy from the base
			var field [7]byte // offset of 4 bytes, length of 3
			for i := range field {
				if op>>i&1 == 0 {
					continue
				}
				if len(delta) == 0 {
					return nil, errDamaged
				}
				field[i], delta = delta[0], delta[1:]
			}
			start := int64(binary.LittleEndian.Uint32(field[:4]))
			length := int64(field[4]) | int64(field[5])<<8 | int64(field[6])<<16
			if length == 0 {
				length = 0x10000
			}
			if start+length > int64(len(base)) {
				return nil, errDamaged
			}
			out = append(out, base[start:start+length]...)
		}
		if uint64(len(out)) > size {
			return nil, errDamaged
		}
	}
	if uint64(len(out)) != size {
		return nil, errDamaged
	}
	return out, nil
}
