import { expect } from 'chai'
import { expectInvalid } from '../../support/answers.ts'
import { useCatalog } from './catalog.ts'

/** The smallest lossless WebP. */
const WEBP = Buffer.from('UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==', 'base64')

describe('picture of a catalog item', () => {
  const { api, company, create } = useCatalog()

  const put = (id: number, content: Buffer | string) =>
    company.call('PUT', `/catalog/items/${id}/picture`, {
      content: typeof content === 'string' ? content : content.toString('base64'),
    })
  const fetchPicture = (url: string, headers: Record<string, string> = {}) => fetch(`${api.url}${url}`, { headers })

  it('is served under its digest, immutable, until it is replaced or deleted', async () => {
    const { id, picture_url } = await create({ name: 'Café', price: '1.00' })
    expect(picture_url).to.equal(null)
    const set = await put(id, WEBP)
    expect(set.status, set.text).to.equal(200)
    const url = set.body.data.picture_url
    expect(url).to.match(/^\/pictures\/\d+\/\d+\/[0-9a-f]{64}\.webp$/)
    expect((await company.get(`/catalog/items/${id}`)).body.data.picture_url).to.equal(url)
    const answer = await fetchPicture(url)
    expect([answer.status, answer.headers.get('content-type')]).to.deep.equal([200, 'image/webp'])
    expect(answer.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
    expect(Buffer.from(await answer.arrayBuffer()).equals(WEBP)).to.equal(true)
    expect((await fetchPicture(url, { 'If-None-Match': answer.headers.get('etag') ?? '' })).status).to.equal(304)
    const { body } = await company.get(`/catalog/items/${id}/picture`)
    expect(body.data).to.deep.include({ url, size: WEBP.length, content: WEBP.toString('base64') })
    expect((await put(id, WEBP)).body.data.picture_url).to.equal(url)
    const other = Buffer.concat([WEBP, Buffer.from('EXIF')])
    const replaced = (await put(id, other)).body.data.picture_url
    expect(replaced).not.to.equal(url)
    expect((await fetchPicture(url)).status).to.equal(404)
    expect((await company.call('DELETE', `/catalog/items/${id}/picture`)).status).to.equal(204)
    expect((await fetchPicture(replaced)).status).to.equal(404)
    expect((await company.get(`/catalog/items/${id}/picture`)).status).to.equal(404)
    expect((await company.get(`/catalog/items/${id}`)).body.data.picture_url).to.equal(null)
  })

  it('may be sent itself, as image/webp [ITEM-110]', async () => {
    const { id } = await create({ name: 'Café', price: '1.00' })
    const send = (path: string, type: string, body: Buffer) =>
      fetch(`${api.url}/api/v1${path}`, {
        method: 'PUT',
        headers: { Authorization: `Bearer ${company.key}`, 'Content-Type': type },
        body: new Uint8Array(body),
      })
    const sent = await send(`/catalog/items/${id}/picture`, 'image/webp', WEBP)
    expect(sent.status).to.equal(200)
    expect((await sent.json()).data.picture_url).to.match(/\.webp$/)
    expect((await send(`/catalog/items/${id}/picture`, 'image/png', WEBP)).status).to.equal(415)
    expect((await send('/catalog/items/by-external/x', 'image/webp', WEBP)).status).to.equal(415)
  })

  it('must be a WebP of at most 200 KB, by its bytes [ITEM-110]', async () => {
    const { id } = await create({ name: 'Café', price: '1.00' })
    const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk', 'base64')
    const large = Buffer.concat([WEBP, Buffer.alloc(204_800 - WEBP.length + 1)])
    for (const content of [png, WEBP.subarray(0, 30), '', 'não', large])
      expectInvalid(await put(id, content), ['content'])
    expect((await put(id, large.subarray(0, 204_800))).status).to.equal(200)
    expect((await put(99_999, WEBP)).status).to.equal(404)
    expect((await fetchPicture('/pictures/1/1/x.webp')).status).to.equal(404)
  })
})
