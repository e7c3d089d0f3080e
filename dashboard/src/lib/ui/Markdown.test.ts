import { render } from '@testing-library/svelte'
import { describe, expect, it } from 'vitest'
import Markdown from './Markdown.svelte'

const draw = (text: string) => render(Markdown, { text }).container

describe('Markdown', () => {
  it('renders elements', () => {
    const page = draw(
      '**bold** and `code`\n\n- one\n- two\n\n```go\nfunc main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |',
    )
    expect(page.querySelector('strong')?.textContent).toBe('bold')
    expect(page.querySelectorAll('li')).toHaveLength(2)
    expect(page.querySelector('pre')?.textContent).toContain('func main() {}')
    expect(page.querySelectorAll('td')).toHaveLength(2)
  })

  it('keeps raw HTML, images and unsafe links as text', () => {
    const page = draw(
      '<img src=x onerror=alert(1)> ![pic](http://evil/x.png) [go](javascript:alert(1)) <b>x</b>',
    )
    expect(page.querySelector('img, b, a')).toBeNull()
    for (const part of [
      '<img src=x onerror=alert(1)>',
      '![pic](http://evil/x.png)',
      'javascript:alert(1)',
      '<b>',
    ])
      expect(page.textContent).toContain(part)
  })

  it('shows the target of a link if its text differs', () => {
    const page = draw('[your bank](https://evil.example/login)')
    expect(page.textContent).toContain('https://evil.example/login')
    expect(page.querySelector('a')?.rel).toContain('noopener')
  })

  it('has no links in texts that must not lead elsewhere', () => {
    const page = render(Markdown, {
      text: 'See [the docs](https://evil.example/x) and https://b.example.',
      links: false,
    }).container
    expect(page.querySelector('a')).toBeNull()
    expect(page.textContent).toContain('the docs (https://evil.example/x)')
    expect(page.textContent).toContain('https://b.example')
  })

  it('shows invisible characters', () => {
    expect(draw('a\u202eb').textContent).toContain('RLO')
  })
})
