const OLD = '2025-11-25'
const NEW = '2026-07-28'

const NO_PROMPTS = 'prompts and resources are not offered'
const NO_TEST_TOOL = 'needs a tool of the suite’s own; the tools here are what is sold'

/** The scenarios that are run, by revision of the protocol. `excused`: checks of features that are not offered. */
export const applicable = [
  { scenario: 'server-initialize', revision: OLD },
  { scenario: 'ping', revision: OLD },
  { scenario: 'tools-list', revision: OLD },
  { scenario: 'tools-call-error', revision: OLD },
  { scenario: 'dns-rebinding-protection', revision: OLD },
  {
    scenario: 'server-stateless',
    revision: NEW,
    excused: {
      'sep-2575-server-rejects-undeclared-capability': NO_TEST_TOOL,
      'sep-2575-missing-capability-http-400': NO_TEST_TOOL,
      'sep-2575-http-server-no-independent-requests-on-stream': NO_TEST_TOOL,
      'sep-2575-server-no-log-without-loglevel': NO_TEST_TOOL,
    },
  },
  { scenario: 'tools-list', revision: NEW },
  { scenario: 'tools-call-error', revision: NEW },
  { scenario: 'server-sse-multiple-streams', revision: NEW },
  { scenario: 'dns-rebinding-protection', revision: NEW },
  { scenario: 'http-header-validation', revision: NEW },
  { scenario: 'input-required-result-unsupported-methods', revision: NEW },
  {
    scenario: 'caching',
    revision: NEW,
    excused: {
      'sep-2549-prompts-list-caching-hints': NO_PROMPTS,
      'sep-2549-resources-list-caching-hints': NO_PROMPTS,
      'sep-2549-resources-templates-list-caching-hints': NO_PROMPTS,
    },
  },
]

/** Scenarios that are not run, and why. */
export const notApplicable = [
  {
    reason: 'Calls a tool that only the suite’s example server has; the tools here are what is sold',
    scenarios: [
      'tools-call-simple-text',
      'tools-call-image',
      'tools-call-audio',
      'tools-call-embedded-resource',
      'tools-call-mixed-content',
      'tools-call-with-logging',
      'tools-call-with-progress',
      'json-schema-2020-12',
      'http-custom-header-server-validation',
    ],
  },
  {
    reason: 'The server never asks the client for anything (sampling, elicitation, roots)',
    scenarios: [
      'tools-call-sampling',
      'tools-call-elicitation',
      'elicitation-sep1034-defaults',
      'elicitation-sep1330-enums',
      'input-required-result-basic-elicitation',
      'input-required-result-basic-sampling',
      'input-required-result-basic-list-roots',
      'input-required-result-request-state',
      'input-required-result-multiple-input-requests',
      'input-required-result-multi-round',
      'input-required-result-missing-input-response',
      'input-required-result-non-tool-request',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
      'input-required-result-capability-check',
      'input-required-result-ignore-extra-params',
      'input-required-result-validate-input',
    ],
  },
  {
    reason: 'Only tools are offered and declared: no prompts, resources, completions or logging',
    scenarios: [
      'logging-set-level',
      'completion-complete',
      'resources-list',
      'resources-read-text',
      'resources-read-binary',
      'resources-templates-read',
      'resources-subscribe',
      'resources-unsubscribe',
      'sep-2164-resource-not-found',
      'prompts-list',
      'prompts-get-simple',
      'prompts-get-with-args',
      'prompts-get-embedded-resource',
      'prompts-get-with-image',
    ],
  },
  {
    reason: 'There are no sessions, and every answer is one JSON body: nothing to resume',
    scenarios: ['server-session-lifecycle', 'server-sse-polling'],
  },
  {
    reason: 'Optional extensions (tasks, skills) that are not offered',
    scenarios: [
      'sep-2640-skills-directory',
      'sep-2640-skills-enumeration',
      'sep-2640-skills-manifest',
      'tasks-lifecycle',
      'tasks-capability-negotiation',
      'tasks-wire-fields',
      'tasks-request-state-removal',
      'tasks-mrtr-input',
      'tasks-request-headers',
      'tasks-dispatch-and-envelope',
      'tasks-status-notifications',
      'tasks-required-task-error',
      'tasks-mrtr-composition',
    ],
  },
]
