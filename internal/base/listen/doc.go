// Package listen has what all listeners of this module need: an address that every
// host has, a loop that outlives a lack of descriptors, and the user of the process
// at the other end of a local connection.
package listen
