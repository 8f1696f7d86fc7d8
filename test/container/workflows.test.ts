import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'

interface Job {
  permissions?: Record<string, string>
  steps?: Array<{ uses?: string; run?: string; with?: Record<string, string> }>
}
interface Workflow {
  on: { push: { branches: string[]; tags?: string[] } }
  permissions: Record<string, string>
  jobs: Record<string, Job>
}

const open = (name: string): Workflow =>
  parse(readFileSync(new URL(`../../.github/workflows/${name}.yml`, import.meta.url), 'utf8'))
const release = open('release')
const inputsOf = (job: string, action: string) =>
  release.jobs[job]?.steps?.find(({ uses }) => uses?.startsWith(`${action}@`))?.with ?? {}

test('a release builds for amd64 and arm64, from the Dockerfile that is tested here', () => {
  expect(release.on.push).toEqual({ branches: ['main'], tags: ['v*.*.*'] })
  const build = inputsOf('image', 'docker/build-push-action')
  expect(build).toMatchObject({ file: 'docker/Dockerfile', platforms: 'linux/amd64,linux/arm64', push: true })
})

test('it is tagged latest, X.Y.Z, X.Y and X, and canary on main alone', () => {
  const { tags, flavor } = inputsOf('image', 'docker/metadata-action')
  expect(flavor).toBe('latest=auto')
  expect(tags?.trim().split('\n')).toEqual([
    'type=semver,pattern={{version}}',
    'type=semver,pattern={{major}}.{{minor}}',
    'type=semver,pattern={{major}}',
    expect.stringMatching(/^type=raw,value=canary,enable=.*github\.ref == 'refs\/heads\/main'/),
  ])
})

test('npm gets the package with provenance, on a tag', () => {
  expect(release.jobs.npm).toMatchObject({ if: "github.ref_type == 'tag'" })
  expect(release.jobs.npm?.steps?.at(-1)?.run).toContain('npm publish --provenance')
})

test.each(['ci', 'release'])(
  '%s reads only, but where a job needs more, and pins every action to a version',
  (name) => {
    const { permissions, jobs } = open(name)
    expect(permissions).toEqual({ contents: 'read' })
    const more = Object.entries(jobs).flatMap(([id, job]) =>
      Object.entries(job.permissions ?? {}).flatMap(([scope, access]) =>
        access === 'write' ? [`${id}: ${scope}`] : [],
      ),
    )
    expect(more).toEqual(name === 'release' ? ['image: packages', 'npm: id-token'] : [])
    const used = Object.values(jobs).flatMap(({ steps = [] }) => steps.flatMap(({ uses }) => uses ?? []))
    for (const action of used) expect(action).toMatch(/^(actions|docker)\/[\w-]+@v\d+$/)
  },
)
