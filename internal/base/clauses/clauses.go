// Package clauses computes fingerprints of the kernels of a source file: of their
// directives and signatures, which generated code repeats. Bodies and other comments do
// not affect the fingerprint. The package builds no syntax tree, because every generated
// program calls it at its start.
package clauses

import (
	"crypto/sha256"
	"encoding/hex"
	"go/scanner"
	"go/token"
	"strings"
)

// directive begins the comments that a fingerprint covers.
const directive = "//intra:task"

// Fingerprint returns a hash of the directives and signatures of the kernels in the
// text of a Go file.
func Fingerprint(source string) string {
	k := &kernels{}
	fset := token.NewFileSet()
	k.scanner.Init(fset.AddFile("", fset.Base(), len(source)), []byte(source), nil, scanner.ScanComments)
	for k.next() {
		switch {
		case k.tok == token.COMMENT && isDirective(k.lit):
			k.pending = true
			k.write(strings.Join(strings.Fields(k.lit), " "))
		case k.tok == token.COMMENT || k.tok == token.SEMICOLON:
		case k.tok == token.FUNC && k.pending && k.depth == 0:
			k.signature()
			k.pending = false
		default:
			k.nest()
		}
	}
	sum := sha256.Sum256([]byte(k.text.String()))
	return hex.EncodeToString(sum[:16])
}

func isDirective(comment string) bool {
	rest, ok := strings.CutPrefix(comment, directive)
	return ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// kernels collects the text that a fingerprint covers.
type kernels struct {
	scanner scanner.Scanner
	tok     token.Token
	lit     string
	depth   int  // depth of brackets of any kind
	pending bool // directives were read whose function has not begun
	text    strings.Builder
}

func (k *kernels) next() bool {
	_, k.tok, k.lit = k.scanner.Scan()
	return k.tok != token.EOF
}

func (k *kernels) write(text string) {
	k.text.WriteString(text)
	k.text.WriteByte('\n')
}

func (k *kernels) nest() {
	switch k.tok {
	case token.LBRACE, token.LPAREN, token.LBRACK:
		k.depth++
	case token.RBRACE, token.RPAREN, token.RBRACK:
		k.depth--
	}
}

// signature writes the tokens from the name of a function up to its body. Line breaks do
// not matter. A brace after struct or interface belongs to a type, not to the body.
func (k *kernels) signature() {
	before := token.FUNC
	types := 0 // number of open braces of types
	for k.next() {
		switch {
		case k.tok == token.COMMENT:
			continue
		case k.tok == token.SEMICOLON && types == 0:
			return // the function has no body
		case k.tok == token.LBRACE && (before == token.STRUCT || before == token.INTERFACE):
			types++
		case k.tok == token.LBRACE && types == 0:
			k.depth++
			return
		case k.tok == token.RBRACE && types > 0:
			types--
		}
		if before == token.COMMA && k.tok != token.RPAREN { // a comma that is not the last one of a list
			k.write(",")
		}
		switch before = k.tok; {
		case k.tok == token.COMMA:
		case k.tok.IsLiteral():
			k.write(k.lit)
		default:
			k.write(k.tok.String())
		}
	}
}
