package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"telefuser/openapi"
	"telefuser/workers/contract"
)

// models say which pipeline answers to which model name.
type models struct {
	pipelines map[string]contract.Contract
	aliases   map[string]string
	// standard is the default pipeline; openAI are the names that bring OpenAI's default size and length with them.
	standard contract.Contract
	openAI   map[string]bool
}

// chosen is the outcome of a request's model field.
type chosen struct {
	// name is what the video object shows as its model.
	name     string
	contract contract.Contract
	// openAI is whether OpenAI's defaults hold rather than the contract's.
	openAI bool
}

func newModels(cfg Config, contracts []contract.Contract) (models, error) {
	m := models{pipelines: map[string]contract.Contract{}, aliases: map[string]string{}, openAI: map[string]bool{}}
	for _, c := range contracts {
		if _, twice := m.pipelines[c.Name]; twice || c.Name == "" {
			return models{}, fmt.Errorf("api: the contract name %q is empty or taken", c.Name)
		}
		m.pipelines[c.Name] = c
	}
	m.standard = contracts[0]
	if cfg.DefaultPipeline != "" {
		standard, ok := m.pipelines[cfg.DefaultPipeline]
		if !ok {
			return models{}, fmt.Errorf("api: config: DefaultPipeline %q is no pipeline", cfg.DefaultPipeline)
		}
		m.standard = standard
	}
	for _, name := range openAIModels() {
		m.aliases[name], m.openAI[name] = m.standard.Name, true
	}
	for _, c := range contracts {
		for _, alias := range c.Aliases {
			m.aliases[alias] = c.Name
		}
	}
	for alias, pipeline := range cfg.ModelAliases {
		if _, ok := m.pipelines[pipeline]; !ok {
			return models{}, fmt.Errorf("api: config: the alias %q names no pipeline", alias)
		}
		m.aliases[alias] = pipeline
	}
	return m, nil
}

// choose finds the pipeline of a model name; the empty name is OpenAI's default model.
func (m models) choose(name string) (chosen, error) {
	if name == "" {
		return chosen{name: openAIModel, contract: m.pipelines[m.aliases[openAIModel]], openAI: true}, nil
	}
	if c, ok := m.pipelines[name]; ok {
		return chosen{name: name, contract: c}, nil
	}
	if pipeline, ok := m.aliases[name]; ok {
		return chosen{name: name, contract: m.pipelines[pipeline], openAI: m.openAI[name]}, nil
	}
	return chosen{}, &problem{status: http.StatusNotFound, typ: typeInvalidRequest, code: codeModelNotFound, param: "model",
		message: "There is no such model; GET /v1/models lists those that there are."}
}

// describe is the wire object of a name that choose knows.
func (m models) describe(name string) openapi.Model {
	c, ok := m.pipelines[name]
	if !ok {
		c = m.pipelines[m.aliases[name]]
	}
	owner := c.OwnedBy
	if owner == "" {
		owner = "telefuser"
	}
	return openapi.Model{ID: name, Object: openapi.ModelObjectModel, Created: c.CreatedAtUnix, OwnedBy: owner}
}

// listModels answers GET /v1/models: the default pipeline first, since many a client takes the first, then the others, then aliases, each by name.
func (s *Server) listModels(c echo.Context) error {
	standard := s.models.standard.Name
	names := []string{standard}
	for _, name := range slices.Sorted(maps.Keys(s.models.pipelines)) {
		if name != standard {
			names = append(names, name)
		}
	}
	for _, alias := range slices.Sorted(maps.Keys(s.models.aliases)) {
		if _, isPipeline := s.models.pipelines[alias]; !isPipeline {
			names = append(names, alias)
		}
	}
	list := openapi.ModelList{Object: openapi.ModelListObjectList, Data: make([]openapi.Model, len(names))}
	for i, name := range names {
		list.Data[i] = s.models.describe(name)
	}
	return c.JSON(http.StatusOK, list)
}

// getModel answers GET /v1/models/{model}.
func (s *Server) getModel(c echo.Context) error {
	name := c.Param("model")
	if name == "" {
		return echo.ErrNotFound
	}
	if _, err := s.models.choose(name); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, s.models.describe(name))
}
