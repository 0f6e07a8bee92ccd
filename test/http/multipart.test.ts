import { expect } from 'chai'
import { readMultipart } from '#http/bodies.ts'

const TYPE = 'multipart/form-data; boundary=cut'
const part = (head: string, content: string) => `--cut\r\n${head}\r\n\r\n${content}\r\n`
const field = (name: string, content: string) => part(`Content-Disposition: form-data; name="${name}"`, content)
const fileOf = (content: string) =>
  part('Content-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv', content)
const read = (text: string, type = TYPE) => readMultipart(Buffer.from(text), type)

describe('multipart form with a file', () => {
  it('is parsed as browsers send it [PANEL-180]', async () => {
    const form = new FormData()
    form.set('_key', 'ç')
    form.set('file', new Blob(['a;b\r\n--1;2\r\n\r\n']), 'planilha "x".csv')
    const request = new Request('http://localhost', { method: 'POST', body: form })
    const body = Buffer.from(await request.arrayBuffer())
    const found = readMultipart(body, request.headers.get('content-type') ?? '')
    expect(found?.fields).to.deep.equal({ _key: 'ç' })
    expect(String(found?.file)).to.equal('a;b\r\n--1;2\r\n\r\n')
  })

  it('may have an empty file and a quoted boundary; the last of two equal fields counts', () => {
    const found = read(
      `${field('a', '1')}${field('a', '2')}${fileOf('')}--cut--\r\n`,
      'multipart/form-data; boundary="cut"',
    )
    expect(found).to.deep.equal({ fields: { a: '2' }, file: Buffer.alloc(0) })
  })

  it('has fields of any name [PANEL-324]', () => {
    const { fields } = read(`${field('__proto__', 'x')}${field('constructor', 'y')}--cut--`) ?? { fields: {} }
    expect(Object.entries(fields)).to.deep.equal([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
  })

  for (const [what, text, type = TYPE] of [
    ['without an end', fileOf('a;b')],
    ['without a beginning', `x${fileOf('a;b')}--cut--`],
    ['without a name', `${part('Content-Disposition: form-data', 'x')}--cut--`],
    ['without headers', '--cut\r\n\r\n\r\nx\r\n--cut--'],
    ['that is empty', ''],
    ['without a boundary', `${fileOf('a')}--cut--`, 'multipart/form-data'],
    [
      'with headers of 3 KB',
      `${part(`X: ${'x'.repeat(3_000)}\r\nContent-Disposition: form-data; name="a"`, '')}--cut--`,
    ],
    ['with more than twenty parts', `${field('a', '').repeat(21)}--cut--`],
  ] as const)
    it(`is refused ${what} [PANEL-321]`, () => {
      expect(read(text, type)).to.equal(null)
    })

  it('of 300,000 parts or headers is refused without parsing them [PANEL-321]', () => {
    const texts = [
      field('a', '').repeat(300_000),
      `--cut\r\n${'X: y\r\n'.repeat(1_000_000)}\r\n`,
      `--cut\r\nContent-Disposition: form-data; name="${'a'.repeat(19_000_000)}"\r\n\r\n\r\n--cut--`,
    ]
    // Node's own parser takes minutes.
    for (const text of texts) expect(read(text)).to.equal(null)
  })
})
