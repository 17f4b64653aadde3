//! The states of a campaign and the events that change them. Free of I/O.

use domain::ports::store::{CampaignRow, CampaignStatus};

/// Where a campaign stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Made, never dialed.
    Draft,
    /// Its time is still to come.
    Waiting,
    /// Dialing.
    Running,
    /// It should be dialing and cannot for the moment.
    Delayed,
    /// No call is placed.
    Paused {
        /// By the end of its window: it starts again by itself at the next opening.
        resumes: bool,
    },
    /// Stopped by the user.
    Stopped,
    /// Every contact has its final outcome.
    Completed,
    /// It cannot go on.
    Failed,
}

/// What happens to a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// The user: dial now.
    Launch,
    /// The user: dial at the schedule's time.
    Schedule,
    /// The user takes the schedule off.
    Unschedule {
        /// Some contact was dialed.
        dialed: bool,
    },
    /// The user: place no new call.
    Pause,
    /// The user: place no new call, cancel what waits.
    Stop,
    /// The contact list is another one.
    ContactsReplaced,
    /// The time it waited for is here.
    TimeCame,
    /// The day's window is over.
    WindowClosed,
    /// The day's window begins.
    WindowOpened,
    /// Nothing to dial now, but retries or follow-ups lie ahead.
    OnlyLater,
    /// Every contact has its final outcome.
    NothingLeft,
    /// No line, the carrier is away or throttles, or every provider of a kind is down.
    Obstacle,
    /// Dialing is possible again.
    ObstacleGone,
    /// The agent is gone, or the carrier refuses the account.
    CannotGoOn,
}

/// What a change of state brings with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Attempts that wait are cancelled, in the same commit.
    CancelWaiting,
}

/// An event that is not possible in the present state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("campaign is {}", .0.status().as_str())]
pub struct InvalidTransition(pub State);

impl State {
    /// The state of a row.
    pub fn of(row: &CampaignRow) -> Self {
        match row.status {
            CampaignStatus::Draft => Self::Draft,
            CampaignStatus::Waiting => Self::Waiting,
            CampaignStatus::Running => Self::Running,
            CampaignStatus::Delayed => Self::Delayed,
            CampaignStatus::Paused => Self::Paused { resumes: row.active },
            CampaignStatus::Stopped => Self::Stopped,
            CampaignStatus::Completed => Self::Completed,
            CampaignStatus::Failed => Self::Failed,
        }
    }

    /// The row's `status`.
    pub fn status(self) -> CampaignStatus {
        match self {
            Self::Draft => CampaignStatus::Draft,
            Self::Waiting => CampaignStatus::Waiting,
            Self::Running => CampaignStatus::Running,
            Self::Delayed => CampaignStatus::Delayed,
            Self::Paused { .. } => CampaignStatus::Paused,
            Self::Stopped => CampaignStatus::Stopped,
            Self::Completed => CampaignStatus::Completed,
            Self::Failed => CampaignStatus::Failed,
        }
    }

    /// The row's `active`: it dials, or will by itself.
    pub fn active(self) -> bool {
        match self {
            Self::Waiting | Self::Running | Self::Delayed => true,
            Self::Paused { resumes } => resumes,
            Self::Draft | Self::Stopped | Self::Completed | Self::Failed => false,
        }
    }

    /// The state after `event` and what goes with it.
    pub fn apply(self, event: Event) -> Result<(Self, Vec<Effect>), InvalidTransition> {
        let next = self.next(event).ok_or(InvalidTransition(self))?;
        let mut effects = Vec::new();
        if event == Event::Stop {
            effects.push(Effect::CancelWaiting);
        }
        Ok((next, effects))
    }

    fn next(self, event: Event) -> Option<Self> {
        match self {
            Self::Draft => Self::from_draft(event),
            Self::Waiting => Self::from_waiting(event),
            Self::Running => Self::from_running(event),
            Self::Delayed => Self::from_delayed(event),
            Self::Paused { resumes } => Self::from_paused(resumes, event),
            Self::Stopped | Self::Failed => self.after_the_end(event),
            // Launching or scheduling it is refused as well, for there is nothing to dial.
            Self::Completed => (event == Event::ContactsReplaced).then_some(Self::Draft),
        }
    }

    fn from_draft(event: Event) -> Option<Self> {
        match event {
            Event::Launch => Some(Self::Running),
            Event::Schedule => Some(Self::Waiting),
            Event::ContactsReplaced => Some(Self::Draft),
            _ => None,
        }
    }

    fn from_waiting(event: Event) -> Option<Self> {
        match event {
            Event::Launch | Event::TimeCame => Some(Self::Running),
            Event::Schedule | Event::ContactsReplaced => Some(Self::Waiting),
            Event::Unschedule { dialed } => Some(Self::unscheduled(dialed)),
            Event::Pause => Some(Self::Paused { resumes: false }),
            Event::Stop => Some(Self::Stopped),
            _ => None,
        }
    }

    fn from_running(event: Event) -> Option<Self> {
        match event {
            Event::Pause => Some(Self::Paused { resumes: false }),
            Event::Stop => Some(Self::Stopped),
            Event::WindowClosed => Some(Self::Paused { resumes: true }),
            Event::OnlyLater => Some(Self::Waiting),
            Event::NothingLeft => Some(Self::Completed),
            Event::Obstacle => Some(Self::Delayed),
            Event::CannotGoOn => Some(Self::Failed),
            _ => None,
        }
    }

    fn from_delayed(event: Event) -> Option<Self> {
        match event {
            Event::Pause => Some(Self::Paused { resumes: false }),
            Event::Stop => Some(Self::Stopped),
            Event::WindowClosed => Some(Self::Paused { resumes: true }),
            Event::ObstacleGone => Some(Self::Running),
            Event::CannotGoOn => Some(Self::Failed),
            _ => None,
        }
    }

    fn from_paused(resumes: bool, event: Event) -> Option<Self> {
        match event {
            Event::Launch => Some(Self::Running),
            Event::Schedule => Some(Self::Waiting),
            Event::Unschedule { dialed } => Some(Self::unscheduled(dialed)),
            Event::Stop => Some(Self::Stopped),
            Event::ContactsReplaced => Some(Self::Paused { resumes }),
            Event::Pause if resumes => Some(Self::Paused { resumes: false }),
            Event::WindowOpened if resumes => Some(Self::Running),
            _ => None,
        }
    }

    fn after_the_end(self, event: Event) -> Option<Self> {
        match event {
            Event::Launch => Some(Self::Running),
            Event::Schedule => Some(Self::Waiting),
            Event::ContactsReplaced => Some(self),
            _ => None,
        }
    }

    fn unscheduled(dialed: bool) -> Self {
        if dialed { Self::Stopped } else { Self::Draft }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
