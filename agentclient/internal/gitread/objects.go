package gitread

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // the names of git's objects
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Limits of packs.
const (
	maxPacks  = 200
	maxDeltas = 100 // in one chain
	maxRead   = 128 << 20
)

var errObject = errors.New("an object is damaged")

// object returns the type and the content of an object, which has at most MaxObject bytes.
func (r *Repository) object(id OID) (kind, content string, err error) {
	if r.stopped() || r.read > maxRead {
		return "", "", ErrStopped
	}
	if len(id) != sha1.Size {
		return "", "", errObject
	}
	name := hex.EncodeToString([]byte(id))
	f, info, err := openIn(r.common, "objects/"+name[:2]+"/"+name[2:])
	switch {
	case err == nil:
		defer func() { _ = f.Close() }()
		if info.Size() > MaxObject {
			return "", "", errObject
		}
		kind, content, err = looseObject(f)
	case errors.Is(err, fs.ErrNotExist):
		kind, content, err = r.packedObject(id, 0)
	}
	r.read += int64(len(content))
	return kind, content, err
}

// inflate returns size bytes of compressed data, and an error if there are more or less.
func inflate(from io.Reader, size int64) (string, error) {
	z, err := zlib.NewReader(from)
	if err != nil {
		return "", err
	}
	if size < 0 || size > MaxObject {
		return "", errObject
	}
	var text strings.Builder
	n, err := io.Copy(&text, io.LimitReader(z, size+1))
	if err != nil || n != size {
		return "", errObject
	}
	return text.String(), nil
}

func looseObject(f io.Reader) (kind, content string, err error) {
	z, err := zlib.NewReader(f)
	if err != nil {
		return "", "", err
	}
	var text strings.Builder
	if n, err := io.Copy(&text, io.LimitReader(z, MaxObject+33)); err != nil || n > MaxObject+32 {
		return "", "", errObject
	}
	header, content, ok := strings.Cut(text.String(), "\x00")
	kind, size, _ := strings.Cut(header, " ")
	if n, err := strconv.Atoi(size); !ok || err != nil || n != len(content) {
		return "", "", errObject
	}
	return kind, content, nil
}

// pack is a file of objects with its index.
type pack struct {
	index, data *os.File
	count       int64
	size        int64 // of data
}

func (p *pack) close() {
	_ = p.index.Close()
	_ = p.data.Close()
}

func (r *Repository) openPacks() error {
	if r.packs != nil {
		return nil
	}
	r.packs = []*pack{}
	dir, err := r.common.Open("objects/pack")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	entries, err := dir.ReadDir(8 * maxPacks)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, entry := range entries {
		name, isIndex := strings.CutSuffix(entry.Name(), ".idx")
		if !isIndex {
			continue
		}
		if len(r.packs) == maxPacks {
			return errors.New("there are too many packs")
		}
		p, err := r.openPack("objects/pack/" + name)
		if err != nil {
			return err
		}
		r.packs = append(r.packs, p)
	}
	return nil
}

func (r *Repository) openPack(name string) (*pack, error) {
	index, _, err := openIn(r.common, name+".idx")
	if err != nil {
		return nil, err
	}
	data, info, err := openIn(r.common, name+".pack")
	if err != nil {
		_ = index.Close()
		return nil, err
	}
	p := &pack{index: index, data: data, size: info.Size()}
	header := make([]byte, 8)
	total, err := p.fanout(255)
	if _, readErr := index.ReadAt(header, 0); readErr != nil || err != nil || !bytes.Equal(header, []byte("\xfftOc\x00\x00\x00\x02")) {
		p.close()
		return nil, errors.New("the format of a pack is not supported")
	}
	p.count = total
	return p, nil
}

// fanout returns the number of objects whose first byte is at most first.
func (p *pack) fanout(first int) (int64, error) {
	n, err := p.number(8 + 4*int64(first))
	return int64(n), err
}

func (p *pack) number(at int64) (uint32, error) {
	var raw [4]byte
	_, err := p.index.ReadAt(raw[:], at)
	return binary.BigEndian.Uint32(raw[:]), err
}

// find returns the offset of an object in the pack, or ErrNotFound.
func (p *pack) find(id OID) (int64, error) {
	const names = 8 + 4*256
	var from, to int64
	var err error
	if id[0] > 0 {
		if from, err = p.fanout(int(id[0]) - 1); err != nil {
			return 0, err
		}
	}
	if to, err = p.fanout(int(id[0])); err != nil || from > to || to > p.count {
		return 0, errObject
	}
	raw := make([]byte, sha1.Size)
	for from < to {
		middle := (from + to) / 2
		if _, err := p.index.ReadAt(raw, names+middle*sha1.Size); err != nil {
			return 0, err
		}
		switch order := strings.Compare(string(raw), string(id)); {
		case order < 0:
			from = middle + 1
		case order > 0:
			to = middle
		default:
			return p.offset(names+p.count*(sha1.Size+4), middle)
		}
	}
	return 0, ErrNotFound
}

// offset returns the offset of the object at a position. table is the place of the short offsets.
func (p *pack) offset(table, position int64) (int64, error) {
	short, err := p.number(table + 4*position)
	if err != nil || short < 1<<31 {
		return int64(short), err
	}
	var raw [8]byte
	_, err = p.index.ReadAt(raw[:], table+4*p.count+8*int64(short&^(1<<31)))
	return int64(binary.BigEndian.Uint64(raw[:]) >> 1), err
}

func (r *Repository) packedObject(id OID, depth int) (kind, content string, err error) {
	if err := r.openPacks(); err != nil {
		return "", "", err
	}
	for _, p := range r.packs {
		at, err := p.find(id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return "", "", err
		}
		return r.at(p, at, depth)
	}
	return "", "", fmt.Errorf("object %x: %w", string(id), ErrNotFound)
}

// at returns the object at an offset of a pack.
func (r *Repository) at(p *pack, at int64, depth int) (kind, content string, err error) {
	if r.stopped() || depth > maxDeltas || r.read > maxRead {
		return "", "", ErrStopped
	}
	if at < 12 || at >= p.size {
		return "", "", errObject
	}
	head := make([]byte, 64)
	n, err := p.data.ReadAt(head, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", "", err
	}
	head = head[:n]
	typ, size := head[0]>>4&7, int64(head[0]&15)
	i := 1
	for shift := 4; head[i-1]&0x80 != 0; shift += 7 {
		if i >= len(head) || shift > 32 {
			return "", "", errObject
		}
		size |= int64(head[i]&0x7f) << shift
		i++
	}
	read := func(i int) (string, error) {
		text, err := inflate(io.NewSectionReader(p.data, at+int64(i), p.size-at-int64(i)), size)
		r.read += int64(len(text))
		return text, err
	}
	var base string
	switch typ {
	case 1, 2, 3, 4:
		content, err = read(i)
		return [...]string{1: "commit", 2: "tree", 3: "blob", 4: "tag"}[typ], content, err
	case 6:
		back, n := offsetVarint(string(head[i:]))
		if n == 0 || back == 0 || back > uint64(at) {
			return "", "", errObject
		}
		i += n
		kind, base, err = r.at(p, at-int64(back), depth+1)
	case 7:
		if i+sha1.Size > len(head) {
			return "", "", errObject
		}
		kind, base, err = r.packedObject(OID(head[i:i+sha1.Size]), depth+1)
		i += sha1.Size
	default:
		return "", "", errObject
	}
	if err != nil {
		return "", "", err
	}
	delta, err := read(i)
	if err == nil {
		content, err = applyDelta(base, delta)
	}
	r.read += int64(len(content))
	return kind, content, err
}

// applyDelta returns the content that a delta makes of its base.
func applyDelta(base, delta string) (string, error) {
	from, n := binary.Uvarint([]byte(delta[:min(len(delta), 10)]))
	if n <= 0 || from != uint64(len(base)) {
		return "", errObject
	}
	delta = delta[n:]
	size, n := binary.Uvarint([]byte(delta[:min(len(delta), 10)]))
	if n <= 0 || size > MaxObject {
		return "", errObject
	}
	delta = delta[n:]
	var out strings.Builder
	out.Grow(int(size))
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var part string
		if op&0x80 == 0 {
			if op == 0 || int(op) > len(delta) {
				return "", errObject
			}
			part, delta = delta[:op], delta[op:]
		} else {
			var value [7]uint64
			for bit := range value {
				if op>>bit&1 == 0 {
					continue
				}
				if delta == "" {
					return "", errObject
				}
				value[bit], delta = uint64(delta[0]), delta[1:]
			}
			at, length := value[0]|value[1]<<8|value[2]<<16|value[3]<<24, value[4]|value[5]<<8|value[6]<<16
			if length == 0 {
				length = 1 << 16
			}
			if at+length > uint64(len(base)) {
				return "", errObject
			}
			part = base[at : at+length]
		}
		if out.Len()+len(part) > int(size) {
			return "", errObject
		}
		out.WriteString(part)
	}
	if out.Len() != int(size) {
		return "", errObject
	}
	return out.String(), nil
}

// Blob returns the content of a file in the repository. The sum of all is limited.
func (r *Repository) Blob(id OID) (string, error) {
	kind, content, err := r.object(id)
	if err == nil && kind != "blob" {
		err = errObject
	}
	return content, err
}
