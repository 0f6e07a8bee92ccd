import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { SCOPES } from '#domain/rights.ts'
import { projectFile } from '#http/assets.ts'
import { callTool } from '../support/agent.ts'
import type { Json } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

/** Asserts that a value has what the guide shows of it. */
function expectShown(shown: Json, real: Json, place: string): void {
  if (typeof shown !== 'object' || shown === null) expect(real, place).to.equal(shown)
  else for (const [name, value] of Object.entries<Json>(shown)) expectShown(value, real?.[name], `${place}.${name}`)
}

describe('guide for agents', () => {
  const api = useApi()

  it('shows a transcript that happens as written [AGENT-1223]', async () => {
    const company = await api.company()
    const limits = { max_amount_per_call: '500.00' }
    const { key } = await company.newKey(SCOPES, '2099-01-01T00:00:00Z', limits)
    const [, transcript = ''] =
      /^```transcript\n([\s\S]+?)^```$/m.exec(readFileSync(projectFile('docs/agents.md'), 'utf8')) ?? []
    const lines = transcript.trim().split('\n')
    expect(lines.length).to.be.above(8)
    for (let at = 0; at < lines.length; at += 2) {
      const [, name = '', given = ''] = /^→ (\w+) (.+)$/.exec(lines[at] ?? '') ?? []
      const [, shown = ''] = /^← (.+)$/.exec(lines[at + 1] ?? '') ?? []
      const { isError, content, structuredContent } = await callTool(api, key, name, JSON.parse(given))
      expectShown(JSON.parse(shown), isError ? JSON.parse(content[0].text) : structuredContent, lines[at] ?? '')
    }
  })
})
