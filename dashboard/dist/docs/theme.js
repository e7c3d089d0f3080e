// Applies the theme that the dashboard's settings choose, or the system's.
const theme = /"theme":"(dark|light)"/.exec(localStorage.getItem('hookback.settings') ?? '')?.[1]
const dark = matchMedia('(prefers-color-scheme: dark)')
const paint = () =>
  document.documentElement.classList.toggle(
    'dark-mode',
    theme === 'dark' || (theme !== 'light' && dark.matches),
  )
paint()
dark.addEventListener('change', paint)
