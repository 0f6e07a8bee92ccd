import { isRefusal } from '#ledger/command.ts'
import { type ImportedKind, storeFile } from '#panel/import/import-plan.ts'
import { readSheet } from '#panel/import/sheet.ts'
import type { TestPanel } from '../../support/browser.ts'
import type { Samples } from './sample.ts'

const FILES: Readonly<Record<string, readonly [kind: ImportedKind, text: string]>> = {
  '/catalogo': ['items', 'Código;Nome;Preço;Cor\nA1;Café torrado e moído 500 g;18,90;preto\nA2;Sem preço;;\n'],
  '/clientes': ['customers', 'Nome;CPF;Celular\nMaria da Silva;529.982.247-25;11987654321\n'],
  '/fornecedores': ['suppliers', 'Coluna sem nome conhecido\nTorrefação\n'],
}

const checkedFile =
  (list: string) =>
  async ({ api, company, owner }: TestPanel) => {
    const [kind, text] = FILES[list] ?? ['items', '']
    const { pool, vault } = api.core
    const sheet = await readSheet(Buffer.from(text), async () => {})
    if (isRefusal(sheet)) throw new Error('the sample is no sheet')
    const owned = { companyId: company.id, userId: owner.id }
    await storeFile({ pool, vault, pause: async () => {} }, owned, kind, { digest: '', sheet })
    return `${list}/importar/conferir`
  }

export const importSamples: Samples = Object.fromEntries(
  Object.keys(FILES).flatMap((list) => [
    [`${list}/importar`, async () => `${list}/importar`],
    [`${list}/importar/conferir`, checkedFile(list)],
  ]),
)
