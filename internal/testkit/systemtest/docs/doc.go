// Package docs tests the documents: README.md, CONTRIBUTING.md, CHANGELOG.md and those in
// the folder docs. Their links, paths, flags and pieces of code must exist. With the tag
// system the tests run every command in the documents, unless a document gives a reason
// against it. CONTRIBUTING.md describes the comments that may precede a block.
package docs
