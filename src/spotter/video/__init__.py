"""Films of episodes: an evaluation episode is played again and every image is encoded at once."""

from spotter.envs.naming import action_names
from spotter.video.replay import CannotRender, Film, FilmStopped, film
from spotter.video.shelf import Filmed, save_video

__all__ = ["CannotRender", "Film", "FilmStopped", "Filmed", "action_names", "film", "save_video"]
