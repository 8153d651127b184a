// Package wholefile writes files that a user has named, each as a whole.
//
// A regular file keeps its old contents until the new ones are complete: they are
// written beside it, and renamed over it. Anything else that a name can stand
// for, such as /dev/null, a terminal or a named pipe, is opened and written,
// since a rename would replace it. Symbolic links are followed. The permissions
// are those of the old file, or those that the user's umask leaves.
package wholefile
