package annotations

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Kind is the promise of a clause about the memory that it names.
type Kind uint8

// The clauses of a task directive.
const (
	In          Kind = iota + 1 // memory that is read
	Out                         // memory that is written, and not read before it is written
	InOut                       // memory that is read and written
	Reduce                      // a partial result, folded into a variable when the section ends
	Scratch                     // work space, whose contents have no meaning before and after
	Elementwise                 // slices whose elements with equal indices belong together
)

var kindNames = []string{In: "in", Out: "out", InOut: "inout", Reduce: "reduce", Scratch: "scratch", Elementwise: "elementwise"}

func (k Kind) String() string { return kindNames[k] }

func kindOf(name string) Kind {
	for k, n := range kindNames {
		if n != "" && n == name {
			return Kind(k)
		}
	}
	return 0
}

// Ident is a name and its position.
type Ident struct {
	Name string
	Pos  token.Pos
}

// Item is one entry of a clause. It consists of a parameter, receiver or result, a path of its
// fields, and at most one slice expression.
type Item struct {
	Root   Ident
	Fields []Ident
	Slice  *Bounds // nil: the item is the whole variable
	Text   string  // text as written, without blanks around it
}

// Pos is the position of the item's first character.
func (it *Item) Pos() token.Pos { return it.Root.Pos }

// Path returns the item without its slice expression, such as "g.z".
func (it *Item) Path() string {
	var b strings.Builder
	b.WriteString(it.Root.Name)
	for _, f := range it.Fields {
		b.WriteByte('.')
		b.WriteString(f.Name)
	}
	return b.String()
}

// Bounds is the slice expression of an item. A missing bound is nil. With columns, Lo and Hi
// are rows of a matrix that is stored in a slice row by row.
type Bounds struct {
	Lo, Hi *Bound
	Cols   *Columns // nil: Lo and Hi are elements, and not rows
}

// Columns are the columns from Lo to Hi of rows with Of elements.
type Columns struct {
	Lo, Hi, Of *Bound
}

// Calls reports whether a bound calls functions. Then the slice expression is a window.
func (b *Bounds) Calls() bool {
	return slices.ContainsFunc(b.all(), func(b *Bound) bool { return len(b.calls) > 0 })
}

// all lists the bounds that are not missing.
func (b *Bounds) all() []*Bound {
	list := []*Bound{b.Lo, b.Hi}
	if b.Cols != nil {
		list = append(list, b.Cols.Lo, b.Cols.Hi, b.Cols.Of)
	}
	return slices.DeleteFunc(list, func(b *Bound) bool { return b == nil })
}

// Bound is one bound of a slice expression.
type Bound struct {
	Expr ast.Expr  // positions in it count from 1
	Base token.Pos // position of its first character
	Text string

	// Packages maps the names of packages whose functions the bound calls. It is set when the
	// clause is resolved.
	Packages map[string]*types.Package
	calls    []boundCall
}

// PosOf returns the position of a node of the bound in the source file.
func (b *Bound) PosOf(n ast.Node) token.Pos { return b.Base + n.Pos() - 1 }

// Clause is one clause of a task directive.
type Clause struct {
	Kind  Kind
	Pos   token.Pos
	Op    Ident // operator of a reduce: + * min max, or a function
	Items []Item
}

// Error is a mistake in a directive: its position, and a text about the mistake and its
// correction.
type Error struct {
	Pos token.Pos
	Msg string
}

func (e *Error) Error() string { return e.Msg }

// ParseTask parses the text after "//intra:task". pos is the position of its first character.
// The result omits clauses that are wrong.
func ParseTask(text string, pos token.Pos) ([]Clause, []*Error) {
	p := newClauseParser(text, pos)
	var clauses []Clause
	for p.tok != token.EOF && len(p.errs) == 0 {
		if c, ok := p.clause(); ok {
			clauses = append(clauses, c)
		}
	}
	return clauses, p.errs
}

// SectionArgs holds the arguments of "//intra:section".
type SectionArgs struct {
	On    []Ident // identifier or selector; nil: the only process in scope
	Sched string  // "", static, adaptive or replicate
	Keep  bool    // results may stay where they were computed
}

// Schedules are the arguments of the sched clause.
var Schedules = []string{"static", "adaptive", "replicate"}

// ParseSection parses the text after "//intra:section". pos is the position of its first
// character.
func ParseSection(text string, pos token.Pos) (SectionArgs, []*Error) {
	p := newClauseParser(text, pos)
	var args SectionArgs
	for p.tok != token.EOF && len(p.errs) == 0 {
		p.sectionClause(&args)
	}
	return args, p.errs
}

// clauseParser is a recursive descent parser over Go tokens. It stops at its first error,
// since errors after the first are rarely useful.
type clauseParser struct {
	text string
	base token.Pos
	scan scanner.Scanner
	file *token.File
	tok  token.Token
	lit  string
	off  int // offset of the current token
	end  int // end of the previous token
	errs []*Error
}

func newClauseParser(text string, pos token.Pos) *clauseParser {
	p := &clauseParser{text: text, base: pos}
	fset := token.NewFileSet()
	p.file = fset.AddFile("", fset.Base(), len(text))
	p.scan.Init(p.file, []byte(text), func(at token.Position, msg string) {
		if len(p.errs) == 0 {
			p.errorf(at.Offset, "%s", msg)
		}
	}, 0)
	p.next()
	return p
}

func (p *clauseParser) next() {
	if p.tok != token.ILLEGAL {
		p.end = p.off + len(p.spelling())
	}
	for {
		var pos token.Pos
		pos, p.tok, p.lit = p.scan.Scan()
		p.off = p.file.Offset(pos)
		if p.tok != token.SEMICOLON || p.lit == ";" {
			return
		}
	}
}

func (p *clauseParser) spelling() string {
	switch {
	case p.lit != "":
		return p.lit
	case p.tok == token.EOF:
		return ""
	}
	return p.tok.String()
}

// found names the current token, for an error.
func (p *clauseParser) found() string {
	if p.tok == token.EOF {
		return "the end of the line"
	}
	return p.spelling()
}

func (p *clauseParser) errorf(off int, format string, args ...any) {
	p.errs = append(p.errs, &Error{Pos: p.base + token.Pos(off), Msg: fmt.Sprintf(format, args...)})
}

func (p *clauseParser) expect(tok token.Token, where string) bool {
	if p.tok != tok {
		p.errorf(p.off, "found %s, want %s %s", p.found(), tok, where)
		return false
	}
	p.next()
	return true
}

// word returns the name of a clause. Such a name may be a keyword of Go.
func (p *clauseParser) word() (string, bool) {
	return p.lit, p.tok == token.IDENT || p.tok.IsKeyword()
}

// clause parses: kind "(" [ op ":" ] item { "," item } ")" .
func (p *clauseParser) clause() (Clause, bool) {
	if p.tok == token.COMMA || p.tok == token.SEMICOLON {
		p.errorf(p.off, "found %s between clauses; clauses are separated by blanks, as in in(x) out(w)", p.found())
		return Clause{}, false
	}
	name, ok := p.word()
	if !ok {
		p.errorf(p.off, "found %s, want a clause: in, out, inout, reduce, scratch or elementwise", p.found())
		return Clause{}, false
	}
	c := Clause{Kind: kindOf(name), Pos: p.base + token.Pos(p.off)}
	if name == "fused" {
		p.errorf(p.off, "clause fused is gone: updates are copied from where the kernel stores its result; leave it out")
		return Clause{}, false
	}
	if c.Kind == 0 {
		p.errorf(p.off, "unknown clause %q of //intra:task%s (want in, out, inout, reduce, scratch or elementwise)", name, didYouMean(name, kindNames[1:]))
		return Clause{}, false
	}
	p.next()
	if !p.expect(token.LPAREN, "after "+name) {
		return Clause{}, false
	}
	if c.Kind == Reduce && !p.operator(&c) {
		return Clause{}, false
	}
	if p.tok == token.RPAREN {
		p.errorf(p.off, "clause %s is empty: name what it is about, or leave it out", name)
		return Clause{}, false
	}
	for {
		it, ok := p.item()
		if !ok {
			return Clause{}, false
		}
		c.Items = append(c.Items, it)
		if p.tok == token.RPAREN {
			p.next()
			return c, true
		}
		if p.tok != token.COMMA {
			p.errorf(p.off, "found %s, want , or ) in clause %s", p.found(), name)
			return Clause{}, false
		}
		p.next()
	}
}

// operators are the tokens that reduce accepts. min, max and functions are names.
var operators = []token.Token{token.ADD, token.MUL, token.LAND, token.LOR, token.AND, token.OR, token.XOR}

// operator parses: ( "+" | "*" | "&&" | "||" | "&" | "|" | "^" | name ) ":" .
func (p *clauseParser) operator(c *Clause) bool {
	at := p.base + token.Pos(p.off)
	switch {
	case slices.Contains(operators, p.tok):
		c.Op = Ident{p.tok.String(), at}
	case p.tok == token.IDENT:
		c.Op = Ident{p.lit, at}
	default:
		p.errorf(p.off, "found %s, want an operator of reduce: + * min max && || & | ^ or a function of the package, as in reduce(+: sum)", p.found())
		return false
	}
	p.next()
	if p.tok != token.COLON {
		p.errorf(p.off, "found %s, want : after the operator, as in reduce(+: sum)", p.found())
		return false
	}
	p.next()
	return true
}

// item parses: name { "." name } [ "[" [ bound ] ":" [ bound ] [ "," [ bound ] ":" [ bound ]
// ":" bound ] "]" ] .
func (p *clauseParser) item() (Item, bool) {
	start := p.off
	root, ok := p.ident("of a parameter, receiver or result")
	if !ok {
		return Item{}, false
	}
	it := Item{Root: root}
	for p.tok == token.PERIOD {
		p.next()
		f, ok := p.ident("of a field")
		if !ok {
			return Item{}, false
		}
		it.Fields = append(it.Fields, f)
	}
	if p.tok == token.LBRACK {
		if it.Slice, ok = p.bounds(); !ok {
			return Item{}, false
		}
	}
	it.Text = p.text[start:p.end]
	if p.tok == token.PERIOD || p.tok == token.LBRACK {
		p.errorf(p.off, "an item takes one slice expression, and it comes last: %s%s", it.Text, p.found())
		return Item{}, false
	}
	return it, true
}

func (p *clauseParser) ident(what string) (Ident, bool) {
	id := Ident{p.lit, p.base + token.Pos(p.off)}
	switch p.tok {
	case token.IDENT:
		p.next()
		return id, true
	case token.MUL, token.AND:
		p.errorf(p.off, "found %s, want the name %s: write the bare name, without * or &", p.found(), what)
	default:
		p.errorf(p.off, "found %s, want the name %s", p.found(), what)
	}
	return Ident{}, false
}

// bounds parses a slice expression. Its bounds are Go expressions.
func (p *clauseParser) bounds() (*Bounds, bool) {
	open := p.off
	p.next()
	lo, ok := p.bound()
	if !ok {
		return nil, false
	}
	switch p.tok {
	case token.RBRACK:
		if lo == nil {
			p.errorf(p.off, "empty brackets: write x for the whole of it, or x[lo:hi]")
		} else {
			p.errorf(open, "an item takes a slice expression, not an index: [%s:%s+1] names one element", lo.Text, lo.Text)
		}
		return nil, false
	case token.SEMICOLON:
		p.errorf(p.off, "found ;, want : (a slice is x[lo:hi], with the end, not the length)")
		return nil, false
	case token.COLON:
		p.next()
	default:
		p.errorf(p.off, "found %s, want : in a slice expression", p.found())
		return nil, false
	}
	hi, ok := p.bound()
	if !ok {
		return nil, false
	}
	b := &Bounds{Lo: lo, Hi: hi}
	if p.tok == token.COMMA {
		p.next()
		if b.Cols, ok = p.columns(); !ok {
			return nil, false
		}
	}
	if p.tok != token.RBRACK {
		p.errorf(p.off, "found %s, want ] at the end of the slice expression [lo:hi], or of rows and columns [lo:hi, left:right:width]", p.found())
		return nil, false
	}
	p.next()
	return b, true
}

// columns parses the part after the rows: the columns, and the length of a row.
func (p *clauseParser) columns() (*Columns, bool) {
	c := &Columns{}
	for i, b := range []**Bound{&c.Lo, &c.Hi, &c.Of} {
		if i > 0 {
			if p.tok != token.COLON {
				p.errorf(p.off, "found %s, want : in the columns left:right:width, where width is the length of a row", p.found())
				return nil, false
			}
			p.next()
		}
		var ok bool
		if *b, ok = p.bound(); !ok {
			return nil, false
		}
	}
	if c.Of == nil {
		p.errorf(p.off, "found %s, want the length of a row, as in [lo:hi, left:right:width]", p.found())
		return nil, false
	}
	return c, true
}

// bound collects the tokens up to ":" or "]", and parses them as an expression.
func (p *clauseParser) bound() (*Bound, bool) {
	start, depth := p.off, 0
	for {
		switch p.tok {
		case token.LPAREN, token.LBRACK:
			depth++
		case token.RPAREN, token.RBRACK:
			if depth == 0 {
				return p.parseBound(start)
			}
			depth--
		case token.COLON, token.SEMICOLON, token.COMMA:
			if depth == 0 {
				return p.parseBound(start)
			}
		case token.ILLEGAL: // the scanner has reported it
			return nil, false
		case token.EOF:
			p.errorf(p.off, "found the end of the line, want ] at the end of a slice expression")
			return nil, false
		}
		p.next()
	}
}

func (p *clauseParser) parseBound(start int) (*Bound, bool) {
	if p.off == start {
		return nil, true
	}
	text := p.text[start:p.end]
	expr, err := parser.ParseExpr(text)
	if err != nil {
		p.errorf(start, "%q is not an expression", text)
		return nil, false
	}
	return &Bound{Expr: expr, Base: p.base + token.Pos(start), Text: text}, true
}
