package generate

import (
	"fmt"
	"go/ast"
	"strings"
)

// dumpNode writes the meaning of a tree: its shape, names, literals and operators.
func dumpNode(b *strings.Builder, root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil:
			b.WriteByte(')')
			return true
		case *ast.CommentGroup, *ast.Comment:
			return false
		case *ast.Ident:
			fmt.Fprintf(b, "(%s", n.Name)
		case *ast.BasicLit:
			fmt.Fprintf(b, "(%s", n.Value)
		case *ast.BinaryExpr:
			fmt.Fprintf(b, "(binary %s", n.Op)
		case *ast.UnaryExpr:
			fmt.Fprintf(b, "(unary %s", n.Op)
		case *ast.AssignStmt:
			fmt.Fprintf(b, "(assign %s %d", n.Tok, len(n.Lhs))
		case *ast.IncDecStmt:
			fmt.Fprintf(b, "(%s", n.Tok)
		case *ast.BranchStmt:
			fmt.Fprintf(b, "(%s", n.Tok)
		case *ast.RangeStmt:
			fmt.Fprintf(b, "(range %s %t %t", n.Tok, n.Key != nil, n.Value != nil)
		case *ast.GenDecl:
			fmt.Fprintf(b, "(decl %s", n.Tok)
		case *ast.CallExpr:
			fmt.Fprintf(b, "(call %t", n.Ellipsis.IsValid())
		case *ast.SliceExpr:
			fmt.Fprintf(b, "(slice %t %t %t", n.Low != nil, n.High != nil, n.Slice3)
		case *ast.ChanType:
			fmt.Fprintf(b, "(chan %d", n.Dir)
		case *ast.ForStmt:
			fmt.Fprintf(b, "(for %t %t %t", n.Init != nil, n.Cond != nil, n.Post != nil)
		case *ast.TypeSpec:
			fmt.Fprintf(b, "(type %t", n.Assign.IsValid())
		case *ast.EmptyStmt:
			return false
		default:
			fmt.Fprintf(b, "(%T", n)
		}
		return true
	})
}
