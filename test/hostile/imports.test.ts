import { expect } from 'chai'
import { loadOf } from '../support/load.ts'
import { hiddenFields, usePanelUser } from '../support/panel.ts'
import { xlsx } from '../support/xlsx.ts'

/** A slice is about 5 ms, a page several times that. Parsing a whole file takes seconds. */
const LONGEST_TURN_MS = 400

const rows = (count: number, rowOf: (n: number) => string): string =>
  `Nome;SKU;Preço;Outra\n${Array.from({ length: count }, (_, n) => rowOf(n)).join('\n')}`

/** Files with the status of the response to their upload. */
const FILES: Readonly<Record<string, readonly [content: string | Buffer, status: number]>> = {
  '600 KB of delimiters and line ends': [';\n'.repeat(300_000), 422],
  '900 KB of line ends': ['\n'.repeat(900_000), 422],
  '1 MB of quotes': ['"'.repeat(1_000_000), 422],
  '1 MB of doubled quotes': ['""""'.repeat(250_000), 422],
  'a cell of 1 MB': [`Nome\n${'x'.repeat(1_000_000)}`, 422],
  '100,000 columns': [';'.repeat(100_000), 422],
  '2 MB as Windows saves them': [Buffer.alloc(2_000_000, 0xe9), 422],
  'headers of brackets': [`${'('.repeat(4_900)};${'[('.repeat(2_400)}\nCafé;1`, 303],
  'cells of control characters': [rows(400, (n) => `${n};${n};1;${'\u0001'.repeat(4_800)}`), 303],
  'cells of blanks': [rows(400, (n) => `${n};${n};1;x${' '.repeat(4_700)}x`), 303],
  'names that are far too long': [rows(400, (n) => `${'é'.repeat(2_400)};${n};${'1'.repeat(200)}`), 303],
  '5,000 rows of 59 cells': [rows(5_000, (n) => `${n};${n};1${';a"=b'.repeat(56)}`), 303],
}

const repeated = (unit: string, length: number): string => unit.repeat(Math.floor(length / unit.length))
const sheetOf = (rows: string) => ({
  'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
})
const TITLES = '<row><c t="inlineStr"><is><t>Nome</t></is></c><c t="inlineStr"><is><t>Preço</t></is></c></row>'
const ENTITIES = `<!DOCTYPE a [${Array.from({ length: 30 }, (_, n) => `<!ENTITY e${n} "&e${n - 1};&e${n - 1};">`).join('')}]>`

/** Parts of workbooks, of some KB as files, with the status of the response. */
const WORKBOOKS: Readonly<Record<string, readonly [parts: Readonly<Record<string, string>>, status: number]>> = {
  'a ZIP of 60 MB': [sheetOf(repeated('<row/>', 60_000_000)), 422],
  'a sheet of 31 MB': [sheetOf(TITLES + repeated('<row><c><v>1</v></c></row>', 31_000_000)), 422],
  'a row of 8 MB of empty cells': [sheetOf(`${TITLES}<row>${repeated('<c/>', 8_000_000)}</row>`), 422],
  'a text of 31 MB': [sheetOf(`<row><c t="inlineStr"><is><t>${repeated('x', 31_000_000)}</t></is></c></row>`), 422],
  'shared texts of 31 MB': [{ 'xl/sharedStrings.xml': `<sst>${repeated('<si><t>a</t></si>', 31_000_000)}</sst>` }, 422],
  'entities that expand': [
    {
      'xl/worksheets/sheet1.xml': `${ENTITIES}<worksheet><sheetData><row><c><v>&e29;</v></c></row></sheetData></worksheet>`,
    },
    422,
  ],
  'formulas that name files and programs': [
    sheetOf(
      `${TITLES}<row><c t="str"><f>cmd|' /C calc'!A0</f><v>Café</v></c><c><f>WEBSERVICE("http://127.0.0.1")</f><v>1</v></c></row>`,
    ),
    303,
  ],
}

/** Forms with many small parts instead of a file. */
const BODIES: Readonly<Record<string, string>> = {
  '30,000 parts': '--cut\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(30_000),
  '100,000 headers': `--cut\r\n${'X: y\r\n'.repeat(100_000)}\r\n`,
  'a name of 2 MB': `--cut\r\nContent-Disposition: form-data; name="${'a'.repeat(1_900_000)}"\r\n\r\n\r\n--cut--`,
}

describe('hostile import files', function () {
  this.timeout(120_000)
  const { api, company, user } = usePanelUser('manager')
  const PATH = '/painel/catalogo/importar'

  const send = (body: Buffer, type: string) =>
    fetch(`${api.url}${PATH}`, {
      method: 'POST',
      headers: { cookie: user.cookie(), 'content-type': type },
      body: new Uint8Array(body),
      redirect: 'manual',
    })

  /** Form with a file, as browsers send it. */
  async function formWith(content: string | Buffer) {
    const { _csrf = '', _key = '' } = hiddenFields((await user.get(PATH)).html, PATH)
    const form = new FormData()
    form.set('_csrf', _csrf)
    form.set('_key', _key)
    form.set('file', new Blob([content as string]), 'planilha.csv')
    const request = new Request('http://localhost', { method: 'POST', body: form })
    const type = request.headers.get('content-type') ?? ''
    return { body: Buffer.from(await request.arrayBuffer()), type }
  }

  for (const [what, [content, status]] of Object.entries({ ...FILES, ...WORKBOOKS }))
    it(`with ${what} are parsed without blocking the event loop [PANEL-321]`, async () => {
      const isWhole = typeof content === 'string' || Buffer.isBuffer(content)
      const { body, type } = await formWith(isWhole ? content : await xlsx([], { parts: content }))
      const uploaded = await loadOf(() => send(body, type))
      expect(uploaded.result.status).to.equal(status)
      expect(uploaded.load.longestTurn_ms, 'upload').to.be.below(LONGEST_TURN_MS)
      if (status !== 303) return
      const shown = await loadOf(() => user.get(`${PATH}/conferir`))
      expect(shown.result.status).to.equal(200)
      expect(shown.load.longestTurn_ms, 'page').to.be.below(LONGEST_TURN_MS)
    })

  for (const [what, body] of Object.entries(BODIES))
    it(`with ${what} are refused at once [PANEL-321]`, async () => {
      const sent = await loadOf(() => send(Buffer.from(body), 'multipart/form-data; boundary=cut'))
      expect(sent.result.status).to.equal(400)
      expect(sent.load.longestTurn_ms).to.be.below(LONGEST_TURN_MS)
    })

  it('create no record [PANEL-321]', async () => {
    const { body, type } = await formWith(FILES['1 MB of quotes']?.[0] ?? '')
    await send(body, type)
    expect((await company.get('/catalog/items')).body.data).to.deep.equal([])
  })
})
