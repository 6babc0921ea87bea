package devstack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrNoTool means that a program is not installed where LookTool looks.
var ErrNoTool = errors.New("devstack: tool not found")

// toolsDirName is the folder beside go.mod into which `make tools` builds.
const toolsDirName = ".tools"

// LookTool finds a program: in $TELEFUSER_TOOLS, in .tools beside the nearest go.mod above the working directory, then on PATH. The answer is
// an absolute path. The error wraps ErrNoTool and says how to get the tool.
func LookTool(name string) (string, error) {
	for _, dir := range toolDirs() {
		path, err := exec.LookPath(filepath.Join(dir, name))
		if err == nil {
			return filepath.Abs(path)
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %s is not in $TELEFUSER_TOOLS, not in %s and not on PATH: run `make tools`", ErrNoTool, name, toolsDirName)
	}
	return filepath.Abs(path)
}

// toolDirs lists the folders before PATH. It reads the environment because it serves tests of rooms that have no configuration.
func toolDirs() []string {
	var dirs []string
	if dir := os.Getenv("TELEFUSER_TOOLS"); dir != "" {
		dirs = append(dirs, dir)
	}
	wd, err := os.Getwd()
	if err != nil {
		return dirs
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return append(dirs, filepath.Join(dir, toolsDirName))
		}
		if dir == filepath.Dir(dir) {
			return dirs
		}
	}
}
