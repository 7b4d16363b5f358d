// Before the first paint, so that a dark page does not flash white.
(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = () => {
    const chosen = localStorage.getItem('vortex-theme') || 'system';
    document.documentElement.dataset.theme =
      chosen === 'system' ? (dark.matches ? 'dark' : 'light') : chosen;
  };
  dark.addEventListener('change', apply);
  addEventListener('vortex-theme', apply);
  apply();
})();
