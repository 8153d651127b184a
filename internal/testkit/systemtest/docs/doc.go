// Package docs tests the documents: README.md, CONTRIBUTING.md, CHANGELOG.md and those
// in the folder docs. Their links, paths, flags and pieces of code have to exist. With
// the tag system it runs every command in them, unless the document says why not.
// CONTRIBUTING.md explains what a comment above a block can say.
package docs
