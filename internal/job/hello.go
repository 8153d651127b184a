package job

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version is the version of the protocols between head and processes and between processes.
// Both sides of a connection must have the same version.
const Version = 17

// Hello is the description of itself that a process sends when it joins. The program sets
// Tag and Tasks; Join sets the rest.
type Hello struct {
	Tag       bool   `json:"tag"`           // the program was built with the intra tag
	MPI       bool   `json:"mpi,omitempty"` // it was built with the mpi tag
	Tasks     int    `json:"tasks"`         // number of tasks into which it divides a section
	Build     string `json:"build"`         // build ID of the executable
	ByteOrder string `json:"byte_order"`    // byte order of memory: little or big
	Arch      string `json:"arch"`          // GOARCH
	Math      string `json:"math"`          // digest of results of the math library, see mathDigest
	Host      string `json:"host"`
	PID       int    `json:"pid"`               // process ID in the process's own namespace
	Program   string `json:"program,omitempty"` // import path of the main package
	Args      string `json:"args,omitempty"`    // encoded arguments of the program, see checkpoint.EncodeArgs; "": none
}

// describe sets all fields except Tag, Tasks and Args.
func (h *Hello) describe() error {
	build, err := buildID("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("identify the executable: %w", err)
	}
	h.MPI = hasMPI
	h.Build, h.Arch, h.Math, h.PID = build, runtime.GOARCH, mathDigest(), os.Getpid()
	if info, ok := debug.ReadBuildInfo(); ok {
		h.Program = info.Path
	}
	h.ByteOrder = "little"
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		h.ByteOrder = "big"
	}
	if h.Host, err = os.Hostname(); err != nil {
		return fmt.Errorf("name the host: %w", err)
	}
	return nil
}

// Mismatch returns the reason why two processes cannot belong to the same job, or "".
func (h *Hello) Mismatch(o *Hello) string {
	for _, c := range []struct{ what, a, b string }{
		{"byte orders", h.ByteOrder, o.ByteOrder},
		{"architectures", h.Arch, o.Arch},
		{"builds of the program", h.Build, o.Build},
		{"results of the math library (digest)", h.Math, o.Math},
		{"uses of the intra build tag", fmt.Sprint(h.Tag), fmt.Sprint(o.Tag)},
	} {
		if c.a != c.b {
			return fmt.Sprintf("different %s: %s on %s, %s on %s", c.what, c.a, h.Host, c.b, o.Host)
		}
	}
	return ""
}

// buildID returns the Go build ID of an executable, or a hash of the file if
// it has none.
func buildID(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if id := goBuildID(f); id != "" {
		return id, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// goBuildID reads the ELF note that the Go linker writes.
func goBuildID(f io.ReaderAt) string {
	e, err := elf.NewFile(f)
	if err != nil {
		return ""
	}
	s := e.Section(".note.go.buildid")
	if s == nil || s.Size > 4096 {
		return ""
	}
	note, err := s.Data()
	if err != nil || len(note) < 16 {
		return ""
	}
	name, desc := e.ByteOrder.Uint32(note), e.ByteOrder.Uint32(note[4:])
	if name != 4 || string(note[12:16]) != "Go\x00\x00" || uint64(desc) > uint64(len(note)-16) {
		return ""
	}
	return strings.TrimRight(string(note[16:16+desc]), "\x00")
}

// mathDigest hashes results that may differ between processors and builds. The math library
// selects its code by CPU features, and a compiler may fuse multiplication and addition.
func mathDigest() string {
	sum := sha256.New()
	put := func(v float64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
		sum.Write(b[:])
	}
	unary := []func(float64) float64{
		math.Exp, math.Exp2, math.Expm1, math.Log, math.Log1p, math.Log2, math.Log10,
		math.Sin, math.Cos, math.Tan, math.Asin, math.Acos, math.Atan, math.Sinh, math.Cosh, math.Tanh,
		math.Sqrt, math.Cbrt, math.Gamma, math.Erf, math.Floor, math.RoundToEven,
	}
	x := 0.0009765625
	for i := range 48 {
		x = x*1.25 + 1/(3+float64(i)) // the result reveals whether this was fused
		for _, f := range unary {
			put(f(x))
			put(f(-x))
			put(f(1 / x))
		}
		put(math.Pow(x, 1.7))
		put(math.Pow(x, -0.3))
		put(math.Atan2(x, 2.5))
		put(math.Hypot(x, 1/x))
		put(math.FMA(x, x, -x))
		put(math.Mod(x, 0.7))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
