"""Films of episodes: an evaluation episode is played again and every image is encoded at once."""

from spotter.envs.naming import action_names
from spotter.video.replay import CannotRender, Film, FilmStopped, film
from spotter.video.shelf import save_video

__all__ = ["CannotRender", "Film", "FilmStopped", "action_names", "film", "save_video"]
