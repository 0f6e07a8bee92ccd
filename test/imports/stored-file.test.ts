import { expect } from 'chai'
import fc from 'fast-check'
import { loadStoredFile, storeFile } from '#panel/import/import-plan.ts'
import { deleteImport } from '#privacy/stored-imports.ts'
import { anyCharacter, explore, TITLE } from '../support/random.ts'
import { useApi } from '../support/use-api.ts'

const pause = async () => {}

describe(`a stored file before its import (${TITLE})`, () => {
  const api = useApi()
  const owner = { companyId: 1, userId: 1 }
  const keeping = () => ({ pool: api.core.pool, vault: api.core.vault, pause })
  const origin = { encoding: null, sheet: null, otherSheets: 0 }
  const sheetOf = (cell: string) => ({ heads: ['Nome'], lines: [{ number: 2, cells: [cell] }], origin })

  it('is loaded as it was read, for any cells [PANEL-321]', async () => {
    const texts = fc.array(fc.string({ unit: anyCharacter, maxLength: 30 }), { maxLength: 5 })
    const files = fc.record({
      heads: texts,
      lines: fc.array(fc.record({ number: fc.nat(), cells: texts }), { maxLength: 5 }),
    })
    const same = fc.asyncProperty(files, async (table) => {
      const sheet = { ...table, origin }
      await storeFile(keeping(), owner, 'items', { digest: 'ab', sheet })
      const kept = await loadStoredFile(keeping(), owner, 'items')
      expect(kept).to.deep.include({ digest: 'ab', sheet })
    })
    await explore(same, 20)
  })

  it('is loaded in slices if it is large [PANEL-321]', async () => {
    const lines = Array.from({ length: 5_000 }, (_, n) => ({ number: n + 2, cells: [`${n}`.repeat(80)] }))
    let pauses = 0
    const counting = async () => void pauses++
    await storeFile({ ...keeping(), pause: counting }, owner, 'items', {
      digest: '',
      sheet: { heads: ['Nome'], lines, origin },
    })
    expect(pauses).to.be.above(50)
    pauses = 0
    const kept = await loadStoredFile({ ...keeping(), pause: counting }, owner, 'items')
    expect(kept?.sheet.lines).to.deep.equal(lines)
    expect(pauses).to.be.above(5_000)
  })

  it('belongs to one kind and one person [PANEL-183]', async () => {
    await storeFile(keeping(), owner, 'items', { digest: '', sheet: sheetOf('a') })
    expect(await loadStoredFile(keeping(), owner, 'customers')).to.equal(null)
    expect(await loadStoredFile(keeping(), { companyId: 1, userId: 2 }, 'items')).to.equal(null)
    expect(await loadStoredFile(keeping(), { companyId: 2, userId: 1 }, 'items')).to.equal(null)
  })

  it('is deleted after its import, but not a file that replaced it [PANEL-323]', async () => {
    const keep = async (cell: string) => {
      await storeFile(keeping(), owner, 'items', { digest: cell, sheet: sheetOf(cell) })
      const kept = await loadStoredFile(keeping(), owner, 'items')
      if (!kept) throw new Error('it was not kept')
      return kept
    }
    const first = await keep('a')
    const second = await keep('b')
    await deleteImport(api.core.pool, owner, first)
    expect((await loadStoredFile(keeping(), owner, 'items'))?.digest).to.equal('b')
    await deleteImport(api.core.pool, owner, second)
    expect(await loadStoredFile(keeping(), owner, 'items')).to.equal(null)
  })
})
