package comm

// World is world, for tests outside of this package.
var World = world
