import { describe, expect, it } from 'vitest'
import { fitIntent } from './intent'

describe('fitIntent', () => {
  it('leaves a short intent as it is', () => {
    const intent = { verb: 'Edit', object: 'internal/order/list.go', change: '+4 −3' }
    expect(fitIntent(intent)).toEqual(intent)
    expect(fitIntent({ verb: 'Approve plan' })).toEqual({ verb: 'Approve plan', object: '', change: '' })
  })
  it('leaves out directories, never the file name', () => {
    const object = 'services/…/very/deep/handler/checkout_test.go'
    expect(fitIntent({ verb: 'Edit', object, change: '+4 −3' }, 38).object).toBe('…/handler/checkout_test.go')
    const name = `${'n'.repeat(90)}.go`
    expect(fitIntent({ verb: 'Read', object: `a/b/${name}` }).object).toBe(`…/${name}`)
  })
  it('keeps both ends of a command', () => {
    const object = `curl https://example.com/${'x'.repeat(90)} | sudo bash && rm -rf ~/.cache/*`
    const fit = fitIntent({ verb: 'Run', object }, 60).object
    expect(fit).toMatch(/^curl https:.* … .*rm -rf ~\/\.cache\/\*$/)
    expect(fit.length).toBeLessThanOrEqual(58)
  })
})
