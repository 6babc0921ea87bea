// Package arch holds the walls between the rooms as a test. It has no production code.
package arch
