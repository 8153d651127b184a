package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/replica/verify"
	"github.com/intrahpc/intra/update"
)

// contents are the memory that replicas compare at a place of the program: the registered
// variables, or the inputs of the tasks of a section.
type contents []content

type content struct {
	namedContent
	of  reflect.Type // type of an element; nil: bytes returned by MarshalBinary
	mem []byte
}

// namedContent identifies a content in messages to the user.
type namedContent struct {
	name   string
	kernel *Kernel // kernel of the task that reads the content; nil: a variable
	task   int
	bytes  bool // returned by MarshalBinary, which may return different bytes for equal values
}

func (n namedContent) String() string { return n.name + n.where() }

func (n namedContent) where() string {
	if n.kernel == nil {
		return ""
	}
	return fmt.Sprintf(" of task %d (%s)", n.task, n.kernel.Name)
}

const (
	// hashedBlock is the size of the blocks whose hashes a table holds.
	hashedBlock = 64 << 10
	// mostHashed bounds the memory that one hash reads. If there is more memory, each hash
	// reads a different part of it, chosen by the number of the place. The bound keeps the
	// first hashes cheap, before the time of a hash is known. It does not change how much is
	// hashed in a given time.
	mostHashed = 1 << 20
	// mostHashes bounds the number of hashes that a replica sends for a place.
	mostHashes = 64
)

// variables returns the registered variables in the order of their names, because replicas
// may register them in different orders. A variable cannot be compared if its MarshalBinary
// returns different bytes on each call, as it may for a map. Such a variable is added to skip,
// and its content has no memory.
func variables(state *checkpoint.State, skip map[string]bool) (contents, error) {
	all, err := state.Variables()
	if err != nil {
		return nil, err
	}
	var again []checkpoint.Variable
	c := make(contents, len(all))
	for i, v := range all {
		c[i] = content{namedContent{name: v.Name, bytes: v.Type == nil}, v.Type, v.Mem}
		if v.Type != nil {
			continue
		}
		if again == nil {
			if again, err = state.Variables(); err != nil {
				return nil, err
			}
		}
		if skip[v.Name] = skip[v.Name] || !bytes.Equal(v.Mem, again[i].Mem); skip[v.Name] {
			c[i].mem = nil
		}
	}
	slices.SortFunc(c, func(a, b content) int { return strings.Compare(a.name, b.name) })
	return c, nil
}

// messagesSent names the content that counts the messages which a replica has sent to each rank.
const messagesSent = "messages to rank"

// contents returns the contents that replicas compare at a safe point: the registered
// variables, and the numbers of messages sent to each rank.
func (w *watcher) contents(state *checkpoint.State) (contents, error) {
	c, err := variables(state, w.skip)
	if err != nil {
		return nil, err
	}
	w.states = w.states || len(c) > 0
	if m := w.messages.Load(); m != nil {
		sent := m.Sent()
		c = append(c, content{namedContent{name: messagesSent}, reflect.TypeFor[uint64](), unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(sent))), 8*len(sent))})
	}
	return c, nil
}

// inputs returns the regions that the tasks of a section read.
func inputs(s *Section) (c contents) {
	for t := range s.Tasks {
		for i := range s.Tasks[t].Regions {
			if r := &s.Tasks[t].Regions[i]; r.Mode == update.In || r.Mode == update.InOut {
				c = append(c, content{namedContent{name: r.Name, kernel: s.Tasks[t].Kernel, task: t}, r.Type(), r.Mem})
			}
		}
	}
	return c
}

// elements returns the number of elements in a block.
func (c *content) elements() int {
	if c.of == nil || c.of.Size() == 0 {
		return hashedBlock
	}
	return max(hashedBlock/int(c.of.Size()), 1)
}

func (c *content) size() int {
	if c.of == nil {
		return 1
	}
	return max(int(c.of.Size()), 1)
}

// block returns the part of the memory that block i covers.
func (c *content) block(i int) []byte {
	size := c.elements() * c.size()
	if i < 0 || i*size >= len(c.mem) {
		return nil
	}
	return c.mem[i*size : min((i+1)*size, len(c.mem))]
}

func (c *content) blocks() int {
	size := c.elements() * c.size()
	return (len(c.mem) + size - 1) / size
}

// values returns the memory without padding, because padding may differ between replicas.
func (c *content) values(mem []byte, buf *[]byte) []byte {
	if c.of == nil {
		return mem
	}
	v := update.Values(c.of, mem, *buf)
	if update.Padded(c.of) {
		*buf = v
	}
	return v
}

// hashes returns one hash for each content or, if there are more than mostHashes, for
// each group of contents.
func (c contents) hashes(at verify.Place) []uint64 {
	total := 0
	for i := range c {
		total += len(c[i].mem)
	}
	of := make([]uint64, min(len(c), mostHashes))
	stride := uint64(1) << bits.Len64(uint64(max(total-1, 0)/mostHashed))
	skipped := xxh3.Hash(binary.LittleEndian.AppendUint64(nil, at.Number))
	var buf, head []byte
	type span struct {
		at   *byte
		size int
	}
	known := make(map[span]uint64) // tasks often read the same memory, which is hashed only once
	for i := range c {
		x := &c[i]
		k := span{unsafe.SliceData(x.mem), len(x.mem)}
		hash, ok := known[k]
		if !ok {
			hash = xxh3.Hash(binary.LittleEndian.AppendUint64(head[:0], uint64(len(x.mem))))
			for b := range x.blocks() {
				if (skipped+uint64(b))&(stride-1) == 0 {
					hash = xxh3.HashSeed(x.values(x.block(b), &buf), hash)
				}
			}
			known[k] = hash
		}
		g := hashOf(i, len(c))
		of[g] = xxh3.HashSeed(binary.LittleEndian.AppendUint64(head[:0], hash), of[g])
	}
	return of
}

// hashOf returns the index of the hash that covers content i of n.
func hashOf(i, n int) int {
	if n <= mostHashes {
		return i
	}
	return i * mostHashes / n
}

// names returns one name for each hash: the name of the first content that the hash covers.
func (c contents) names() []namedContent {
	names := make([]namedContent, min(len(c), mostHashes))
	for i := range c {
		n := &names[hashOf(i, len(c))]
		if n.name == "" {
			*n = c[i].namedContent
		}
		n.bytes = n.bytes || c[i].bytes
	}
	return names
}

// table returns the hashes of all blocks.
func (c contents) table() verify.Table {
	t := make(verify.Table, len(c))
	var buf []byte
	for i := range c {
		t[i] = append(make([]uint64, 0, 1+c[i].blocks()), uint64(len(c[i].mem)))
		for b := range c[i].blocks() {
			t[i] = append(t[i], xxh3.Hash(c[i].values(c[i].block(b), &buf)))
		}
	}
	return t
}

// shownBytes bounds the text of an element in a message.
const shownBytes = 80

// differs describes the first element in which a block of another replica differs from the
// block of this replica.
func (c *content) differs(block int, mine, theirs int, other []byte) string {
	own := c.block(block)
	var a, b []byte
	for i, size := 0, c.size(); (i+1)*size <= min(len(own), len(other)); i++ {
		x, y := own[i*size:(i+1)*size], other[i*size:(i+1)*size]
		if bytes.Equal(c.values(x, &a), c.values(y, &b)) {
			continue
		}
		at := block*c.elements() + i
		if c.of == nil {
			return fmt.Sprintf("byte %d of what MarshalBinary of %s returns is %d on replica %d and %d on replica %d", at, c.name, x[0], mine, y[0], theirs)
		}
		name := fmt.Sprintf("%s[%d]", c.name, at)
		if len(c.mem) == size {
			name = c.name
		}
		first, second := c.shown(x), c.shown(y)
		if first == second { // the texts can be equal, for example for two NaNs or long structs
			first, second = fmt.Sprintf("%s (% x)", first, clipped(x)), fmt.Sprintf("%s (% x)", second, clipped(y))
		}
		return fmt.Sprintf("%s%s is %s on replica %d and %s on replica %d", name, c.where(), first, mine, second, theirs)
	}
	return fmt.Sprintf("%v has other contents on replica %d than on replica %d", c.namedContent, mine, theirs)
}

func clipped(b []byte) []byte { return b[:min(len(b), 16)] }

// shown formats an element for the user.
func (c *content) shown(mem []byte) string {
	v := reflect.New(c.of)
	copy(unsafe.Slice((*byte)(v.UnsafePointer()), len(mem)), mem)
	text := strings.ToValidUTF8(fmt.Sprintf("%+v", v.Elem()), "?")
	if len(text) > shownBytes {
		text = text[:shownBytes] + "…"
	}
	return text
}
