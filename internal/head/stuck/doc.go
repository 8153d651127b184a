// Package stuck finds out from what the processes of a job wait for whether some of
// them wait for each other, or for somebody who has finished, so that they never go
// on.
//
// It is a function of what the processes have said last. A process can go on if its
// program runs, or if what it waits for can come: from ranks of which a replica can
// go on. Those that are left over can never go on, whatever the others do: nobody
// that they wait for is among the others. So a long computation is no deadlock, nor
// is a process that is stopped, or one that is out of touch; and two ranks that wait
// for each other are found while others compute.
package stuck
