import { expect } from 'chai'
import { renderToString } from 'preact-render-to-string'
import type { AttestationStatus } from '#integrity/attestors/attestation-status.ts'
import { Attestors } from '#panel/pages/audit/attestors.tsx'

const confirmed: AttestationStatus = {
  source: 'witness.example/w1',
  kind: 'cosignature',
  size: 7,
  obtained_at: '2026-11-22T20:00:00.000Z',
  age: 60,
  waiting: 0,
  waiting_seconds: 0,
  tried_at: '2026-11-22T20:00:00.000Z',
  failures: 0,
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
  it('show the last confirmation, pending requests and problems [PROOF-68]', () => {
    const none = { size: null, obtained_at: null, age: null, waiting: 3, waiting_seconds: 60 }
    const text = shown([
      confirmed,
      { ...confirmed, ...none, source: 'https://tsa.example/tsr', kind: 'time_stamp' },
      {
        ...confirmed,
        source: '/mnt/secret',
        kind: 'copy',
        waiting: 1,
        problem: 'unreachable',
        detail: 'EACCES /mnt/secret',
      },
      { ...confirmed, source: 'other.example', waiting: 1, problem: 'inconsistent' },
    ])
    expect(text).to.match(/Testemunha witness\.example\/w1 confirmou em 22\/11\/2026,? 17:00/)
    expect(text).to.match(/Carimbo do tempo de tsa\.example ainda não confirmou aguardando/)
    expect(text).to.match(/Cópia fora do serviço confirmou em .* sem resposta válida/)
    expect(text).to.match(/other\.example confirmou em .* viu outro registro: avise o suporte/)
    expect(text).not.to.include('secret')
  })

  it('show nothing if none are configured [PROOF-68]', () => {
    expect(shown([])).to.equal('')
  })
})
