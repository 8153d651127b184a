package generate

import (
	"bytes"
	"fmt"
	"go/types"
	"strings"

	"github.com/intrahpc/intra/annotations"
)

// protector prints the method that registers the fields of a state type.
type protector struct {
	im *imports
	st *annotations.State
}

func newProtector(im *imports, st *annotations.State) *protector { return &protector{im, st} }

func (p *protector) print(b *bytes.Buffer) {
	intra, name := p.im.intra(), p.st.Type.Name()
	named := p.st.Type.Type().(*types.Named)
	recv := "*" + name
	if tps := named.TypeParams(); tps.Len() > 0 {
		var list []string
		for tp := range tps.TypeParams() {
			list = append(list, tp.Obj().Name())
		}
		recv += "[" + strings.Join(list, ", ") + "]"
	}
	fields := p.fields(named.Underlying().(*types.Struct))
	v := p.local(strings.Join(fields, "\n"))
	fmt.Fprintf(b, "\n// %s registers the fields of %s as state of %s; the names begin with %s.\n", annotations.ProtectMethod, v[0], v[1], v[2])
	fmt.Fprintf(b, "func (%s %s) %s(%s *%s.Process, %s string) {\n", v[0], recv, annotations.ProtectMethod, v[1], intra, v[2])
	fmt.Fprintf(b, "\t_ = (*struct {\n")
	for _, f := range fields {
		fmt.Fprintf(b, "\t\t%s\n", f)
	}
	fmt.Fprintf(b, "\t})(%s) // other fields do not compile: run go generate\n", v[0])
	for _, f := range p.st.Fields {
		switch f.How {
		case annotations.NestedForm:
			fmt.Fprintf(b, "\t%s.%s.%s(%s, %s+%q)\n", v[0], f.Name, annotations.ProtectMethod, v[1], v[2], "."+f.Name)
		case annotations.PointerForm:
			fmt.Fprintf(b, "\t%s.Protect(%s, %s+%q, %s.%s)\n", intra, v[1], v[2], "."+f.Name, v[0], f.Name)
		default:
			fmt.Fprintf(b, "\t%s.Protect(%s, %s+%q, &%s.%s)\n", intra, v[1], v[2], "."+f.Name, v[0], f.Name)
		}
	}
	b.WriteString("}\n")
}

// fields lists all fields in the form in which they are declared.
func (p *protector) fields(st *types.Struct) []string {
	var list []string
	for f := range st.Fields() {
		decl := p.im.typeString(f.Type())
		if !f.Embedded() {
			decl = f.Name() + " " + decl
		}
		list = append(list, decl)
	}
	return list
}

// local returns names for the receiver, the process and the registered name. They hide no
// names in the types of the fields.
func (p *protector) local(fields string) [3]string {
	taken := map[string]bool{p.im.intra(): true, p.st.Type.Name(): true}
	for _, word := range strings.FieldsFunc(fields, notWord) {
		if p.im.pkg.Scope().Lookup(word) != nil || types.Universe.Lookup(word) != nil {
			taken[word] = true
		}
	}
	for _, n := range p.im.names {
		taken[n] = true
	}
	named := p.st.Type.Type().(*types.Named)
	for tp := range named.TypeParams().TypeParams() {
		taken[tp.Obj().Name()] = true
	}
	pick := func(name string) string {
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		return name
	}
	return [3]string{pick("s"), pick("p"), pick("name")}
}
