package api_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestThePageOfTheAPINamesEveryCodeAndMetric so that it does not fall behind.
func TestThePageOfTheAPINamesEveryCodeAndMetric(t *testing.T) {
	page := string(readFile(t, "../docs/api.md"))
	codes := regexp.MustCompile(`code[A-Z][A-Za-z]+ += "([a-z_]+)"`).FindAllStringSubmatch(string(readFile(t, "errors.go")), -1)
	if len(codes) < 20 {
		t.Fatalf("found only %d codes", len(codes))
	}
	for _, code := range codes {
		if !strings.Contains(page, "`"+code[1]+"`") {
			t.Errorf("docs/api.md lacks the code %s", code[1])
		}
	}
	for _, name := range regexp.MustCompile(`telefuser_[a-z_]+`).FindAllString(string(readFile(t, "metrics.go")), -1) {
		if !strings.Contains(page, name) {
			t.Errorf("docs/api.md lacks the metric %s", name)
		}
	}
}
