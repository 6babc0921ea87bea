package weights

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrAbsent says that there are no weights at a path.
	ErrAbsent = errors.New("weights: there are none")
	// ErrPickle says that weights are a Python pickle, which this program never reads.
	ErrPickle = errors.New("weights: a pickle is never read")
	// ErrUnknown says that a set has no tensor of a name, or none that fits what was asked.
	ErrUnknown = errors.New("weights: no such tensor")
	// ErrConfig says that a config.json is unusable.
	ErrConfig = errors.New("weights: unusable configuration")
)

// FormatError says why a safetensors file or an index cannot be trusted.
type FormatError struct{ Path, Reason string }

// Error names the file and the reason.
func (e *FormatError) Error() string { return "weights: " + e.Path + ": " + e.Reason }

// MismatchError says that a checkpoint is not of the model.
type MismatchError struct {
	Path, Model string
	Report      Report
}

// Error counts what is wrong and names the first of each kind.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("weights: %s is no %s: %s", e.Path, e.Model, e.Report)
}

// configError builds an ErrConfig.
func configError(path, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrConfig, path, fmt.Sprintf(format, args...))
}

// pickled builds an ErrPickle with the way out.
func pickled(path, file string) error {
	to := file[:strings.LastIndexByte(file, '.')] + ".safetensors"
	return fmt.Errorf("%w: %s. Convert it once, in %s: %s", ErrPickle, file, path, convertCommand(file, to))
}

// convertCommand is the Python line that turns a pickle of tensors into safetensors.
func convertCommand(from, to string) string {
	return fmt.Sprintf(`python3 -c "import torch; from safetensors.torch import save_file; d = torch.load('%s', map_location='cpu', weights_only=True); `+
		`save_file({k: v.contiguous() for k, v in d.items()}, '%s')"`, from, to)
}
