import { expect } from 'chai'
import { renderToString } from 'preact-render-to-string'
import type { AttestationStatus } from '#integrity/attestations.ts'
import { Attestors } from '#panel/pages/audit-pages.tsx'

const confirmed: AttestationStatus = {
  source: 'witness.example/w1',
  kind: 'cosignature',
  host: 'witness.example',
  size: 7,
  obtained_at: '2026-11-22T20:00:00.000Z',
  age: 60,
  waiting: 0,
  waiting_seconds: 0,
  tried_at: '2026-11-22T20:00:00.000Z',
  failures: 0,
  failing_since: null,
  problem: null,
  detail: null,
}

/** Visible text of the section, in one line. */
const shown = (states: readonly AttestationStatus[]) => {
  const page = Attestors({ states, timezone: 'America/Sao_Paulo' })
  return page === null
    ? ''
    : renderToString(page)
        .replace(/<[^>]+>/g, ' ')
        .replace(/\s+/g, ' ')
}

describe('panel: attestors', () => {
  it('show the last confirmation, pending requests and problems', () => {
    const none = { size: null, obtained_at: null, age: null, waiting: 3, waiting_seconds: 60 }
    const text = shown([
      confirmed,
      { ...confirmed, ...none, source: 'https://tsa.example/tsr', kind: 'time_stamp', host: 'tsa.example' },
      {
        ...confirmed,
        source: '/mnt/secret',
        kind: 'copy',
        host: null,
        failing_since: '2026-11-22T21:00:00.000Z',
        waiting: 1,
        problem: 'unreachable',
        detail: 'EACCES /mnt/secret',
      },
      { ...confirmed, source: 'other.example', waiting: 1, problem: 'inconsistent' },
    ])
    expect(text).to.match(/Testemunha witness\.example\/w1 confirmou em 22\/11\/2026,? 17:00/)
    expect(text).to.match(/Carimbo do tempo de tsa\.example ainda não confirmou aguardando/)
    expect(text).to.match(/Cópia fora do serviço confirmou em .* sem resposta desde 22\/11\/2026,? 18:00 /)
    expect(text).to.match(/other\.example confirmou em .* viu outro registro: avise o suporte \(witness\.example\)/)
    expect(text).not.to.include('secret')
  })

  it('show nothing if none are configured', () => {
    expect(shown([])).to.equal('')
  })
})
