// Package wholefile writes files that a user has named. The contents of each file appear
// at once.
//
// A regular file keeps its old contents until the new ones are complete: they are written
// beside it, and renamed over it. Other kinds of files, such as /dev/null, a terminal or a
// named pipe, are opened and written, because a rename would replace them. Symbolic links
// are followed. A new file gets the permissions of the old one, or those that the user's
// umask allows.
package wholefile
