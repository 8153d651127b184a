// Package docs tests the documents: README.md, CONTRIBUTING.md, CHANGELOG.md and
// those in the folder docs. Their links, paths, flags and pieces of code have to be
// there, and with the tag system every command in them is run that does not say
// why not. CONTRIBUTING.md explains what a comment above a block can say.
package docs
